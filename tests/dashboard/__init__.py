"""The dashboard in a real browser, before real hubs and daemons."""
