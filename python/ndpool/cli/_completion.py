"""Shell completion: prints a script for your shell.

source <(ndpool completion bash)
"""

from __future__ import annotations

import argparse

NAME = "completion"
HELP = "completion for bash and zsh"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))


def run(args: argparse.Namespace) -> None:
    cases = []
    commands = next(
        action for action in args.top._actions if isinstance(action, argparse._SubParsersAction)
    )
    for name, sub in commands.choices.items():
        options = " ".join(s for action in sub._actions for s in action.option_strings)
        cases.append(f"    {name}) words='{options}' ;;")
    if args.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print("_ndpool() {")
    print("  local words='' current=${COMP_WORDS[COMP_CWORD]}")
    print("  if ((COMP_CWORD == 1)); then")
    print(f"    words='{' '.join(commands.choices)} --help --version'")
    print("  else case ${COMP_WORDS[1]} in")
    print("\n".join(cases))
    print("  esac; fi")
    print('  COMPREPLY=($(compgen -W "$words" -- "$current"))')
    print('  [[ $current == -* || COMP_CWORD -eq 1 ]] || COMPREPLY+=($(compgen -f -- "$current"))')
    print("}")
    print("complete -F _ndpool ndpool")
