"""The reader: one small language model that answers, criticises, reasons and routes."""
