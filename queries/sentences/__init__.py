"""`attnbank show`: one sentence and what heads attend to in it."""
