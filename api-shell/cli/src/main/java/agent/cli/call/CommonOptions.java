package agent.cli.call;

import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import java.time.Duration;
import java.util.List;

/** Options that several commands have: those of all commands, and those of commands that list. */
public final class CommonOptions {
  public static final String HOST = "--host";
  public static final String OUTPUT = "--output";
  public static final String TIMEOUT = "--timeout";
  public static final String WATCH = "--watch";
  public static final String INTERVAL = "--interval";
  public static final String LABELS = "--labels";
  public static final Duration READ_TIMEOUT = Duration.ofSeconds(10);
  static final Duration CHANGE_TIMEOUT = Duration.ofSeconds(30);

  private CommonOptions() {}

  /** Returns the options of all commands. */
  public static List<OptionSpec> globalOptions() {
    return List.of(
        OptionSpec.value(
                HOST,
                "ADDRESS",
                ValueKind.FILE,
                "Address of the agent, unix://PATH. Default: AGENT_HOST, or"
                    + " /var/run/agent/agent.sock.")
            .withLetter("-H"),
        OptionSpec.text(
                OUTPUT,
                "FORMAT",
                "table, wide (no truncated columns), csv, json, yaml or jsonpath=PATH. Default: table.")
            .withLetter("-o")
            .among("table", "wide", "csv", "json", "yaml", "jsonpath="),
        OptionSpec.text(
            TIMEOUT,
            "TIME",
            "Response timeout, such as 500ms, 10s or 2m. Default: 10s, and 30s for a" + " change."),
        OptionSpec.flag("--help", "Show this help.").withLetter("-h"));
  }

  /** Adds the options by which a command is repeated. */
  public static CommandSpec<Action> watched(CommandSpec<Action> command) {
    return command
        .option(
            OptionSpec.flag(WATCH, "Repeat until interrupted, and show changes.").withLetter("-w"))
        .option(OptionSpec.text(INTERVAL, "TIME", "Polling interval. Default: 2s."));
  }

  /** Returns the option by which entries are selected. */
  public static OptionSpec labels() {
    return OptionSpec.value(
            LABELS,
            "LABEL",
            ValueKind.LABEL,
            "Only entries with these labels, [source:]key[=value].")
        .withLetter("-l")
        .repeated();
  }
}
