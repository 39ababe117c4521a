package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Listing;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Comparator;
import java.util.List;

/** {@code agentctl map}. */
public final class MapCommands {
  private static final String FILTER = "--filter";
  private static final String SORT = "--sort";
  private static final String LIMIT = "--limit";

  private MapCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists open maps.", MapCommands::list)
                .operation("GET /map")),
        CommonOptions.watched(
            withSelection(
                    CommandSpec.<Action>command(
                            "get", "Shows the contents of a map.", MapCommands::get)
                        .argument(ArgumentSpec.required("NAME", ValueKind.MAP, "Name of the map.")))
                .operation("GET /map/{name}")
                .example(
                    "agentctl map get conntrack4_tcp --filter 10.1.0.7 --sort key",
                    "list the TCP flows of an address")));
  }

  /** Adds the options that say which entries are shown, in which order. */
  static CommandSpec<Action> withSelection(CommandSpec<Action> command) {
    return command
        .option(
            OptionSpec.text(
                    FILTER,
                    "TEXT",
                    "Only entries whose key or value contains this text. Repeatable; all must match.")
                .repeated())
        .option(
            OptionSpec.text(SORT, "PART", "Sort by key, value or state; numbers in numeric order.")
                .among("key", "value", "state"))
        .option(OptionSpec.text(LIMIT, "NUMBER", "Stop after this many entries."));
  }

  private static void list(Invocation call) throws IOException {
    call.list(RequestPath.of("map"), maps());
  }

  static Listing maps() {
    return new Listing("maps")
        .column("NAME", "name")
        .column("TYPE", "type")
        .column("ENTRIES", "entries")
        .column("MAX", "max-entries")
        .column("PRESSURE", map -> percent(Tree.text(map, "pressure")))
        .column("KEY", "key-size")
        .column("VALUE", "value-size")
        .column("PATH", "path");
  }

  private static String percent(String ratio) {
    return ratio == null
        ? null
        : new BigDecimal(ratio).movePointRight(2).setScale(1, RoundingMode.HALF_UP) + "%";
  }

  private static void get(Invocation call) throws IOException {
    call.list(RequestPath.of("map", call.argument(0)), entries(call));
  }

  /** Returns how the entries of a map are shown. */
  static Listing entries(Invocation call) {
    final Listing listing =
        new Listing("cache")
            .column("KEY", "key")
            .column("VALUE", "value")
            .column("STATE", "desired-action")
            .column("ERROR", "last-error");
    for (final String text : call.options(FILTER)) {
      listing.where(entry -> contains(entry, "key", text) || contains(entry, "value", text));
    }
    if (call.isSet(SORT)) {
      final String part = call.option(SORT).equals("state") ? "desired-action" : call.option(SORT);
      listing.sortedBy(
          Comparator.comparing(
              entry -> Tree.at(entry, part) == null ? "" : Tree.text(entry, part),
              MapCommands::compareNumbersByValue));
    }
    if (call.isSet(LIMIT)) {
      final long limit = call.number(LIMIT, 0);
      if (limit < 1) {
        throw new UsageException(LIMIT + ": '" + limit + "' is not a positive number");
      }
      listing.limit(limit);
    }
    return listing;
  }

  private static boolean contains(Object entry, String part, String text) {
    return Tree.at(entry, part) instanceof String value && value.contains(text);
  }

  /** Compares texts such that 10.1.0.9 is before 10.1.0.10. */
  private static int compareNumbersByValue(String left, String right) {
    int i = 0;
    int j = 0;
    while (i < left.length() && j < right.length()) {
      final int leftEnd = digits(left, i);
      final int rightEnd = digits(right, j);
      final int order;
      if (leftEnd > i && rightEnd > j) {
        order = compareDigits(left.substring(i, leftEnd), right.substring(j, rightEnd));
        i = leftEnd;
        j = rightEnd;
      } else {
        order = Character.compare(left.charAt(i++), right.charAt(j++));
      }
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(left.length() - i, right.length() - j);
  }

  private static int compareDigits(String left, String right) {
    return new java.math.BigInteger(left).compareTo(new java.math.BigInteger(right));
  }

  private static int digits(String text, int from) {
    int end = from;
    while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
      end++;
    }
    return end;
  }
}
