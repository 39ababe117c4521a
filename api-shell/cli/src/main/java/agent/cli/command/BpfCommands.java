package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code agentctl bpf}: what programs enforce while no agent runs. Nothing is written. */
public final class BpfCommands {
  private static final String ROOT = "--bpf-root";
  public static final String DEFAULT_ROOT = "/sys/fs/bpf";

  private BpfCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        withRoot(
            CommandSpec.<Action>command("list", "Lists pinned maps.", BpfCommands::list)
                .details("Reads the pinned maps of the agent as root; changes nothing.")),
        MapCommands.withSelection(
            withRoot(
                CommandSpec.<Action>command(
                        "get", "Shows the contents of a pinned map.", BpfCommands::get)
                    .argument(ArgumentSpec.required("NAME", ValueKind.MAP, "Name of the map."))
                    .example("agentctl bpf get policy_00001", "show the policy of an endpoint"))));
  }

  private static CommandSpec<Action> withRoot(CommandSpec<Action> command) {
    return command.option(
        OptionSpec.value(
            ROOT,
            "DIR",
            ValueKind.FILE,
            "BPF file system of the agent (its --bpf-root). Default: " + DEFAULT_ROOT + "."));
  }

  private static Path root(Invocation call) {
    final String given = call.option(ROOT);
    return Path.of(given == null ? DEFAULT_ROOT : given);
  }

  private static void list(Invocation call) throws IOException {
    call.printer().list(Map.of("maps", call.local().maps(root(call))), MapCommands.maps());
  }

  private static void get(Invocation call) throws IOException {
    final String name = call.argument(0);
    call.printer()
        .list(
            to -> {
              final boolean isThere =
                  call.local()
                      .read(
                          root(call),
                          name,
                          (key, value) -> {
                            final Map<String, Object> entry = new LinkedHashMap<>();
                            entry.put("key", key);
                            entry.put("value", value);
                            return to.test(entry);
                          });
              if (!isThere) {
                throw new IOException(
                    "pinned map '" + name + "' does not exist under " + root(call));
              }
            },
            MapCommands.entries(call));
  }
}
