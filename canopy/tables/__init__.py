"""Tables: the paper's layout as Markdown, CSV and LaTeX."""
