"""Reading and writing files."""  # noqa: A005
