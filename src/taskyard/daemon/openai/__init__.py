"""Tasks done by a model behind an OpenAI-compatible address. `agent.py` is the door."""
