package agent.cli.help;

/**
 * Completions of the shells. The scripts ask the program itself, so that they never differ from it:
 * {@code agentctl complete -- WORD...} prints a candidate a line, behind a tabulator its meaning; a
 * line {@code :file} stands for the files of the shell.
 */
public final class CompletionScript {
  private static final String BASH =
      """
      # bash completion of agentctl: source <(agentctl completion bash)
      _agentctl() {
        local line=${COMP_LINE:0:COMP_POINT} words current fragment candidate meaning
        read -r -a words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        current=${words[-1]}
        # Readline replaces only what stands behind the last word break.
        fragment=${COMP_WORDS[COMP_CWORD]}
        [[ $fragment == [:=] ]] && fragment=
        COMPREPLY=()
        while IFS=$'\\t' read -r candidate meaning; do
          if [[ $candidate == :file ]]; then
            local file
            while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
          elif [[ $candidate == "$current"* ]]; then
            [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${candidate#"${current%"$fragment"}"}")
          fi
        done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
      }
      complete -F _agentctl agentctl
      """;

  private static final String ZSH =
      """
      #compdef agentctl
      # zsh completion of agentctl: source <(agentctl completion zsh)
      _agentctl() {
        local -a values meanings
        local candidate meaning
        while IFS=$'\\t' read -r candidate meaning; do
          if [[ $candidate == :file ]]; then
            _files
          else
            values+=("$candidate")
            meanings+=("$candidate${meaning:+  -- $meaning}")
          fi
        done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
        (( ${#values} )) && compadd -l -d meanings -a values
        return 0
      }
      if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
        _agentctl "$@"
      else
        compdef _agentctl agentctl
      fi
      """;

  private static final String FISH =
      """
      # fish completion of agentctl: agentctl completion fish | source
      function __agentctl_complete
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        for candidate in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
          if test "$candidate" = ":file"
            for file in $current*
              test -d "$file"; and set file $file/
              echo $file
            end
          else
            echo $candidate
          end
        end
      end
      complete -c agentctl -f -a '(__agentctl_complete)'
      """;

  private CompletionScript() {}

  /**
   * Returns the script for a shell.
   *
   * @param shell {@code bash}, {@code zsh} or {@code fish}
   */
  public static String of(String shell) {
    return switch (shell) {
      case "bash" -> BASH;
      case "zsh" -> ZSH;
      case "fish" -> FISH;
      default -> throw new IllegalArgumentException("'" + shell + "' is not a known shell");
    };
  }
}
