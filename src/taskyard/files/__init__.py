"""Files on disk that every part of Taskyard may make: who can read them."""
