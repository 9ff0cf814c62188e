"""Region trees of retrieved items, their renderings, and parent-relative refinement (DESIGN section 4)."""
