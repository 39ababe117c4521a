package agent.cli;

import agent.cli.Invocation.UsageException;
import java.util.List;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** {@code agentctl completion}. */
final class CompletionCommand {
  private CompletionCommand() {}

  static CommandSpec build() {
    return CommandTree.command(
            "Prints completions for a shell: source <(agentctl completion bash)",
            CompletionCommand::print)
        .addPositional(
            PositionalParamSpec.builder()
                .index("0")
                .arity("1")
                .required(true)
                .type(String.class)
                .paramLabel("SHELL")
                .completionCandidates(List.of("bash", "zsh"))
                .description("bash or zsh.")
                .build());
  }

  private static void print(Invocation call) {
    final String shell = call.argument(0);
    if (!shell.equals("bash") && !shell.equals("zsh")) {
      throw new UsageException("'" + shell + "' is neither bash nor zsh");
    }
    call.out().println(AutoComplete.bash("agentctl", new CommandLine(CommandTree.build())));
  }
}
