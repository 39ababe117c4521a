package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.call.RequestFile;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Listing;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code agentctl service}. */
public final class ServiceCommands {
  private static final String FILE = "--file";
  private static final String FRONTEND = "--frontend";
  private static final String PROTOCOL = "--protocol";
  private static final String BACKEND = "--backend";
  private static final String AFFINITY = "--affinity";
  private static final String NAME = "--name";
  private static final String NAMESPACE = "--namespace";
  private static final String FORWARDING_MODE = "--forwarding-mode";
  private static final String LOCAL = "--local";

  private ServiceCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists services.", ServiceCommands::list)
                .operation("GET /service")),
        CommonOptions.watched(
            withId("get", "Shows a service and its backends.", ServiceCommands::get)
                .operation("GET /service/{id}")),
        withId("update", "Creates or replaces a service.", ServiceCommands::update)
            .operation("PUT /service/{id}")
            .option(
                OptionSpec.value(
                        FILE,
                        "FILE",
                        ValueKind.FILE,
                        "Service specification as JSON; options override it.")
                    .withLetter("-f"))
            .option(
                OptionSpec.text(
                    FRONTEND, "ADDRESS:PORT", "Address and port that clients connect to."))
            .option(
                OptionSpec.text(PROTOCOL, "PROTOCOL", "TCP, UDP, SCTP or ANY. Default: ANY.")
                    .among("TCP", "UDP", "SCTP", "ANY"))
            .option(
                OptionSpec.text(
                        BACKEND,
                        "ADDRESS:PORT",
                        "Backend, optionally with /weight=N and /state=STATE.")
                    .repeated())
            .option(OptionSpec.text(AFFINITY, "SECONDS", "Session affinity timeout of a client."))
            .option(OptionSpec.text(NAME, "NAME", "Name of the service."))
            .option(OptionSpec.text(NAMESPACE, "NAMESPACE", "Namespace of the service."))
            .option(
                OptionSpec.text(
                        FORWARDING_MODE,
                        "MODE",
                        "Forwarding mode for external clients to backends on other hosts: snat or dsr.")
                    .among("snat", "dsr"))
            .option(OptionSpec.flag(LOCAL, "Use only backends on this node."))
            .example(
                "agentctl service update 7 --frontend 10.96.0.1:80 --protocol TCP"
                    + " --backend 10.1.0.7:8080 --backend 10.1.0.9:8080/weight=3",
                "create a service with two backends; the second gets three quarters of the connections"),
        withId("delete", "Deletes a service.", ServiceCommands::delete)
            .operation("DELETE /service/{id}"));
  }

  private static CommandSpec<Action> withId(String name, String summary, Action action) {
    return CommandSpec.command(name, summary, action)
        .argument(ArgumentSpec.required("ID", ValueKind.SERVICE, "Number of the service."));
  }

  private static void list(Invocation call) throws IOException {
    call.list(
        RequestPath.of("service"),
        new Listing("")
            .column("ID", "spec", "id")
            .column("NAME", service -> name(Tree.at(service, "spec", "flags")))
            .column("FRONTEND", service -> end(Tree.at(service, "spec", "frontend-address")))
            .column("PROTOCOL", "spec", "frontend-address", "protocol")
            .column("TYPE", "spec", "flags", "type")
            .column("ACTIVE", ServiceCommands::active)
            .column("BACKENDS", service -> Text.of(backends(service).size())));
  }

  private static List<?> backends(Object service) {
    return Tree.list(service, "spec", "backend-addresses");
  }

  private static String active(Object service) {
    return Text.of(
        backends(service).stream()
            .filter(backend -> "active".equals(Tree.text(backend, "state")))
            .count());
  }

  /** Returns the name of a service with its namespace; null where it has none. */
  public static String name(Object flags) {
    final String name = Tree.text(flags, "name");
    final String namespace = Tree.text(flags, "namespace");
    return name == null || namespace == null ? name : namespace + "/" + name;
  }

  private static String end(Object address) {
    final String ip = Tree.text(address, "ip");
    return (ip.indexOf(':') < 0 ? ip : "[" + ip + "]") + ":" + Tree.text(address, "port");
  }

  private static void get(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("service", call.argument(0));
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object service = call.tree(path);
    final Object spec = Tree.at(service, "spec");
    final Object flags = Tree.at(spec, "flags");
    call.out().println("ID:        " + Tree.text(spec, "id"));
    final String name = name(flags);
    call.out().println("Name:      " + (name == null ? "" : Text.oneLine(name)));
    call.out()
        .println(
            "Frontend:  %s %s"
                .formatted(
                    end(Tree.at(spec, "frontend-address")),
                    Tree.text(spec, "frontend-address", "protocol")));
    call.out().println("Type:      " + Tree.text(flags, "type"));
    final String affinity = Tree.text(flags, "affinityTimeoutSeconds");
    call.out().println("Affinity:  " + (affinity == null ? "none" : affinity + " s"));
    call.out().println("Served by: " + servedBy(flags));
    final String mode = Tree.text(flags, "forwardingMode");
    if (mode != null) {
      call.out().println("Forwarded: " + mode);
    }
    final Rows rows = call.rows("BACKEND", "STATE", "WEIGHT", "NODE");
    for (final Object backend : backends(service)) {
      rows.row(
          end(backend),
          Tree.at(backend, "state"),
          Tree.at(backend, "weight"),
          Tree.at(backend, "nodeName"));
    }
    rows.end();
  }

  private static String servedBy(Object flags) {
    return "Local".equals(Tree.text(flags, "intTrafficPolicy"))
        ? "the backends on this node"
        : "all backends";
  }

  private static void update(Invocation call) throws IOException {
    final Map<String, Object> spec = new LinkedHashMap<>();
    if (call.isSet(FILE)) {
      final Object given = RequestFile.json(call, call.option(FILE));
      if (!(given instanceof final Map<?, ?> members)) {
        throw new UsageException("'" + call.option(FILE) + "' is not a JSON object");
      }
      members.forEach((name, value) -> spec.put(name.toString(), value));
    }
    if (call.isSet(FRONTEND)) {
      spec.put("frontend-address", address(FRONTEND, call.option(FRONTEND)));
    }
    if (!spec.containsKey("frontend-address")) {
      throw new UsageException(FRONTEND + " or " + FILE + " is required");
    }
    if (call.isSet(PROTOCOL)) {
      members(spec, "frontend-address").put("protocol", call.option(PROTOCOL));
    }
    if (call.isSet(BACKEND)) {
      final List<Object> backends = new ArrayList<>();
      for (final String text : call.options(BACKEND)) {
        backends.add(backend(text));
      }
      spec.put("backend-addresses", backends);
    }
    setFlags(call, spec);
    send(call, spec);
  }

  private static void setFlags(Invocation call, Map<String, Object> spec) {
    if (call.isSet(AFFINITY)) {
      members(spec, "flags").put("sessionAffinity", "ClientIP");
      members(spec, "flags").put("affinityTimeoutSeconds", call.number(AFFINITY, 0));
    }
    if (call.isSet(LOCAL)) {
      members(spec, "flags").put("intTrafficPolicy", "Local");
    }
    if (call.isSet(FORWARDING_MODE)) {
      members(spec, "flags").put("forwardingMode", call.option(FORWARDING_MODE));
    }
    if (call.isSet(NAME)) {
      members(spec, "flags").put("name", call.option(NAME));
    }
    if (call.isSet(NAMESPACE)) {
      members(spec, "flags").put("namespace", call.option(NAMESPACE));
    }
  }

  private static void send(Invocation call, Map<String, Object> spec) throws IOException {
    final RequestPath path = RequestPath.of("service", call.argument(0));
    if (call.wantsDocument()) {
      call.printer().document(call.open("PUT", path, Map.of(), spec));
      return;
    }
    final Object service = AnswerPrinter.tree(call.open("PUT", path, Map.of(), spec));
    call.out()
        .println(
            "service %s: %s, backends: %d"
                .formatted(
                    Tree.text(service, "spec", "id"),
                    end(Tree.at(service, "spec", "frontend-address")),
                    backends(service).size()));
  }

  /** Returns a member that is an object, which a change of it does not share with the file. */
  @SuppressWarnings("unchecked")
  private static Map<String, Object> members(Map<String, Object> spec, String name) {
    final Map<String, Object> copy = new LinkedHashMap<>();
    if (spec.get(name) instanceof final Map<?, ?> present) {
      copy.putAll((Map<String, Object>) present);
    }
    spec.put(name, copy);
    return copy;
  }

  private static Map<String, Object> backend(String text) {
    final String[] parts = text.split("/");
    final Map<String, Object> backend = address(BACKEND, parts[0]);
    for (int i = 1; i < parts.length; i++) {
      final int equals = parts[i].indexOf('=');
      final String name = equals < 0 ? parts[i] : parts[i].substring(0, equals);
      final String value = equals < 0 ? "" : parts[i].substring(equals + 1);
      switch (name) {
        case "weight" -> backend.put(name, number(text, value));
        case "state" -> backend.put(name, value);
        default ->
            throw new UsageException(BACKEND + ": '" + text + "': '" + name + "' is unknown");
      }
    }
    return backend;
  }

  /** Parses {@code 10.1.0.7:80} or {@code [fd00::7]:80}. */
  private static Map<String, Object> address(String option, String text) {
    final int colon = text.lastIndexOf(':');
    if (colon < 1) {
      throw new UsageException(option + ": '" + text + "' is not ADDRESS:PORT");
    }
    final String ip = text.substring(0, colon);
    final boolean isBracketed = ip.startsWith("[") && ip.endsWith("]");
    if (!isBracketed && ip.indexOf(':') >= 0) {
      throw new UsageException(option + ": '" + text + "': write [ADDRESS]:PORT");
    }
    final Map<String, Object> address = new LinkedHashMap<>();
    address.put("ip", isBracketed ? ip.substring(1, ip.length() - 1) : ip);
    address.put("port", number(text, text.substring(colon + 1)));
    return address;
  }

  private static int number(String text, String digits) {
    try {
      return Integer.parseInt(digits);
    } catch (NumberFormatException e) {
      throw new UsageException("'" + text + "': '" + digits + "' is not a whole number");
    }
  }

  private static void delete(Invocation call) throws IOException {
    call.send("DELETE", RequestPath.of("service", call.argument(0)), null);
    if (!call.wantsDocument()) {
      call.out().println("service " + call.argument(0) + " deleted");
    }
  }
}
