package agent.cli;

import agent.cli.Invocation.UsageException;
import agent.client.RequestPath;
import agent.contract.WireFormat;
import agent.contract.policy.PolicyModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.databind.json.JsonMapper;

/** {@code agentctl policy}. */
final class PolicyCommands {
  private PolicyCommands() {}

  static CommandSpec build() {
    return CommandTree.group("policy", "Policy rules.")
        .addSubcommand(
            "get",
            CommandTree.command("Shows rules.", PolicyCommands::get)
                .addPositional(CommandTree.several(0, "LABEL", "Labels that a rule must have.")))
        .addSubcommand(
            "import",
            CommandTree.command(
                    "Adds rules, replacing those with the same labels.",
                    PolicyCommands::importRules)
                .addPositional(
                    CommandTree.required("FILE", "JSON array of rules, or - for standard input.")))
        .addSubcommand(
            "delete",
            CommandTree.command("Deletes rules.", PolicyCommands::delete)
                .addPositional(CommandTree.several(0, "LABEL", "Labels that a rule must have."))
                .addOption(CommandTree.flag("--all", "All rules.")));
  }

  private static void get(Invocation call) throws IOException {
    final List<String> labels = call.arguments(0);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("policy").queryEach("labels", labels));
    } else {
      print(call, call.agent().policy(labels));
    }
  }

  /** The answer holds the rules as JSON text in a JSON string; prints them as a document. */
  private static void print(Invocation call, PolicyModel policy) {
    final JsonMapper mapper = WireFormat.lenientMapper();
    call.out()
        .println(
            mapper
                .writerWithDefaultPrettyPrinter()
                .writeValueAsString(mapper.readTree(policy.policy())));
    revision(call, policy);
  }

  private static void revision(Invocation call, PolicyModel policy) {
    call.out().println("Revision: " + policy.revision());
  }

  private static void importRules(Invocation call) throws IOException {
    final String rules = read(call.argument(0));
    if (call.wantsJson()) {
      call.printJson("PUT", RequestPath.of("policy"), rules);
    } else {
      revision(call, call.agent().importPolicy(rules));
    }
  }

  private static String read(String file) throws IOException {
    if (file.equals("-")) {
      return new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    }
    try {
      return Files.readString(Path.of(file));
    } catch (NoSuchFileException e) {
      throw new UsageException("there is no file '" + file + "'");
    } catch (IOException e) {
      throw new UsageException("cannot read '" + file + "': " + e.getMessage());
    }
  }

  private static void delete(Invocation call) throws IOException {
    final List<String> labels = call.arguments(0);
    if (labels.isEmpty() != call.isSet("--all")) {
      throw new UsageException("either labels or --all is needed");
    }
    if (call.wantsJson()) {
      call.printJson("DELETE", RequestPath.of("policy").queryEach("labels", labels), null);
    } else {
      revision(call, call.agent().deletePolicy(labels));
    }
  }
}
