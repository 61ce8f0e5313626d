"""What agents see of the yard, by the Model Context Protocol: one table of tools for both ways in.

Every tool is a few calls of the HTTP interface and a brief view of their answers. Who may do what, what is too large
and what is refused is decided there and nowhere else: `gateway/mcp.py` makes those calls inside the hub with the
caller's own credential, `taskyard mcp` makes them over the network with its own.
"""
