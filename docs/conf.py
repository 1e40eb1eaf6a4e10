"""Settings of the site: `make docs` builds it from these pages, offline, into out/site."""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path

from hulltune import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "hulltune"
author = "The hulltune authors"
copyright = author  # noqa: A001  # Sphinx calls it so
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "markdown_pages",
    "docstrings",
    "commands",
    "notebooks",
]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_extensions"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of arrays and aliases have no page; links in pages are all checked
suppress_warnings = ["config.cache"]  # settings that hold functions, which are read anew in every build

# Pages read the same on code hosts: their anchors are those that browsers get there.
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Notebooks are run once, and again when their cells or the package change: with the commands of this environment, and
# with settings of IPython that are the same for all (the kernel tells its errors, not that it talks to itself openly).
OUT = Path(__file__).parents[1] / "out"
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "examples")  # the package decoder
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["IPYTHONDIR"] = str(OUT / "ipython")
(OUT / "ipython" / "profile_default").mkdir(parents=True, exist_ok=True)
(OUT / "ipython" / "profile_default" / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'")
nb_execution_mode = "cache"
sources = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
package = sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
nb_execution_cache_path = str(OUT / "notebooks" / package)
nb_execution_timeout = 300
nb_execution_in_temp = True  # they write small files
nb_merge_streams = True
nb_execution_raise_on_error = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # nothing is fetched from elsewhere

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    name: name for name in ("DataLike", "ReferencesLike", "WeightsLike", "Floats", "Int64s", "Statistics", "References")
}
maximum_signature_line_length = 130
default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"

smartquotes = False  # --add stays --add

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"hulltune {version}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "native"
