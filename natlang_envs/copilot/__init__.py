"""The copilot: a person or a model answers a question or changes files in a sandbox, one command at a time.

copilot       the loop of prompt, answer and execution
drivers       a person and a model, who answer the prompts
shell         the grammar that finds the sandbox's commands in an answer
command_text  the first of several commands in a text, tidied
edit_forms    edits of files in an answer
project_tests  the project's own tests, before changes and after them
"""
