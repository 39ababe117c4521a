package agent.cli;

import agent.client.RequestPath;
import agent.contract.datapath.MapModel;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/** {@code agentctl map}. */
final class MapCommands {
  private MapCommands() {}

  static CommandSpec build() {
    return CommandTree.group("map", "BPF maps.")
        .addSubcommand("list", CommandTree.command("Lists open maps.", MapCommands::list))
        .addSubcommand(
            "get",
            CommandTree.command("Shows the contents of a map.", MapCommands::get)
                .addPositional(CommandTree.required("NAME", "Name of the map.")));
  }

  private static void list(Invocation call) throws IOException {
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("map"));
      return;
    }
    final Table table =
        new Table(call.out(), "NAME", "TYPE", "ENTRIES", "MAX", "PRESSURE", "KEY", "VALUE", "PATH");
    for (final MapModel map : call.agent().maps().maps()) {
      table.row(
          map.name(),
          map.type(),
          map.entries(),
          map.maxEntries(),
          map.pressure() == null
              ? null
              : String.format(Locale.ROOT, "%.1f%%", 100 * map.pressure()),
          map.keySize(),
          map.valueSize(),
          map.path());
    }
    table.end();
  }

  private static void get(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("map", call.argument(0));
    if (call.wantsJson()) {
      call.printJson(path);
      return;
    }
    final Table table = new Table(call.out(), "KEY", "VALUE", "STATE", "ERROR");
    try (InputStream answer = call.agent().open("GET", path, null);
        JsonParser json =
            JsonFactory.builder().build().createParser(ObjectReadContext.empty(), answer)) {
      while (json.nextToken() != null && !call.out().checkError()) {
        if (json.hasToken(JsonToken.START_OBJECT) && isEntry(json)) {
          entry(json, table);
        }
      }
    }
    table.end();
  }

  /** An entry is an object in the array {@code cache} of the map's record. */
  private static boolean isEntry(JsonParser json) {
    final var array = json.streamReadContext().getParent();
    return array != null && array.inArray() && "cache".equals(array.getParent().currentName());
  }

  private static void entry(JsonParser json, Table table) {
    String key = null;
    String value = null;
    String action = null;
    String error = null;
    while (json.nextToken() == JsonToken.PROPERTY_NAME) {
      final String name = json.currentName();
      json.nextToken();
      switch (name) {
        case "key" -> key = json.getString();
        case "value" -> value = json.getString();
        case "desired-action" -> action = json.getString();
        case "last-error" -> error = json.getString();
        default -> json.skipChildren();
      }
    }
    table.row(key, value, action, error);
  }
}
