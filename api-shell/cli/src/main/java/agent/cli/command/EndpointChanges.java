package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.Invocation;
import agent.cli.call.RequestFile;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code agentctl endpoint create}, {@code update} and {@code delete}. */
final class EndpointChanges {
  private static final String FILE = "--file";
  private static final String LABEL = "--label";
  private static final String NAMED_PORT = "--named-port";
  private static final String SYNC = "--sync";
  private static final String IPV4 = "--ipv4";
  private static final String IPV6 = "--ipv6";
  private static final String STATE = "--state";
  private static final Pattern PORT = Pattern.compile("([^=]+)=([0-9]{1,9})(?:/(.+))?");

  /** Options that are one member of the request. */
  private static final Map<String, String> MEMBERS =
      Map.of(
          "--interface",
          "interface-name",
          "--mac",
          "mac",
          EndpointCommands.CONTAINER,
          "container-id",
          "--container-name",
          "container-name",
          "--pod",
          "k8s-pod-name",
          "--namespace",
          "k8s-namespace");

  private EndpointChanges() {}

  static CommandSpec<Action> create() {
    return withRequest(
            CommandSpec.<Action>command("create", "Creates an endpoint.", EndpointChanges::create)
                .argument(
                    ArgumentSpec.optional(
                        "ID",
                        ValueKind.TEXT,
                        "Id of the endpoint, 1 to 65535. Without it, or with 0, the agent allocates one.")))
        .operation("PUT /endpoint/{id}")
        .details(
            """
            Options override the members of the request in the file. The agent determines members that \
            are not given, where it can.""")
        .example(
            "agentctl endpoint create --interface wl0 --ipv4 10.1.0.7 --label app=web",
            "make the workload behind wl0 an endpoint")
        .example(
            "agentctl endpoint create --interface wl0 --label app=web --named-port http=8080/TCP",
            "let rules refer to port 8080 of the workload as http");
  }

  static CommandSpec<Action> update() {
    return withRequest(
            EndpointCommands.withId("update", "Changes an endpoint.", EndpointChanges::update))
        .operation("PATCH /endpoint/{id}");
  }

  private static CommandSpec<Action> withRequest(CommandSpec<Action> command) {
    return command
        .option(
            OptionSpec.value(
                    FILE, "FILE", ValueKind.FILE, "The request as JSON, or - for standard input.")
                .withLetter("-f"))
        .option(OptionSpec.text("--interface", "NAME", "Host interface of the workload."))
        .option(OptionSpec.text("--mac", "MAC", "MAC address of the workload."))
        .option(OptionSpec.text(IPV4, "ADDRESS", "IPv4 address."))
        .option(OptionSpec.text(IPV6, "ADDRESS", "IPv6 address."))
        .option(OptionSpec.text(LABEL, "LABEL", "Labels, [source:]key[=value].").repeated())
        .option(
            OptionSpec.text(
                    NAMED_PORT,
                    "NAME=PORT[/PROTOCOL]",
                    "Ports that rules may refer to by name. Default protocol: TCP.")
                .repeated())
        .option(OptionSpec.text(EndpointCommands.CONTAINER, "ID", "Id of the container."))
        .option(OptionSpec.text("--container-name", "NAME", "Name of the container."))
        .option(OptionSpec.text("--pod", "NAME", "Name of the pod."))
        .option(OptionSpec.text("--namespace", "NAME", "Namespace of the pod."))
        .option(OptionSpec.text(STATE, "STATE", "Requested state. Default: waiting-for-identity."))
        .option(OptionSpec.flag(SYNC, "Return only once the policy is enforced."));
  }

  static CommandSpec<Action> delete() {
    return CommandSpec.<Action>command("delete", "Deletes endpoints.", EndpointChanges::delete)
        .operation("DELETE /endpoint/{id}, DELETE /endpoint")
        .argument(ArgumentSpec.optional("ID", ValueKind.ENDPOINT, "[prefix:]id of the endpoint."))
        .option(
            OptionSpec.text(
                EndpointCommands.CONTAINER,
                "ID",
                "Delete the endpoints of this container instead."));
  }

  private static Map<String, Object> request(Invocation call) throws IOException {
    final Map<String, Object> request = new LinkedHashMap<>();
    if (call.isSet(FILE)) {
      if (!(RequestFile.json(call, call.option(FILE)) instanceof Map<?, ?> members)) {
        throw new UsageException("'" + call.option(FILE) + "' is not a JSON object");
      }
      members.forEach((name, value) -> request.put(name.toString(), value));
    }
    MEMBERS.forEach(
        (option, member) -> {
          if (call.isSet(option)) {
            request.put(member, call.option(option));
          }
        });
    if (call.isSet(IPV4) || call.isSet(IPV6)) {
      final Map<String, Object> addressing =
          new LinkedHashMap<>(Tree.members(request, "addressing"));
      addIfSet(call, IPV4, addressing, "ipv4");
      addIfSet(call, IPV6, addressing, "ipv6");
      request.put("addressing", addressing);
    }
    if (call.isSet(LABEL)) {
      request.put("labels", call.options(LABEL));
    }
    if (call.isSet(NAMED_PORT)) {
      request.put(
          "named-ports", call.options(NAMED_PORT).stream().map(EndpointChanges::port).toList());
    }
    if (call.isSet(SYNC)) {
      request.put("sync-build-endpoint", true);
    }
    request.putIfAbsent("state", "waiting-for-identity");
    addIfSet(call, STATE, request, "state");
    return request;
  }

  private static Map<String, Object> port(String text) {
    final Matcher parts = PORT.matcher(text);
    if (!parts.matches()) {
      throw new UsageException(NAMED_PORT + ": '" + text + "' is not NAME=PORT[/PROTOCOL]");
    }
    final Map<String, Object> port = new LinkedHashMap<>();
    port.put("name", parts.group(1));
    port.put("port", Integer.parseInt(parts.group(2)));
    if (parts.group(3) != null) {
      port.put("protocol", parts.group(3));
    }
    return port;
  }

  private static void addIfSet(
      Invocation call, String option, Map<String, Object> to, String member) {
    if (call.isSet(option)) {
      to.put(member, call.option(option));
    }
  }

  private static void create(Invocation call) throws IOException {
    final String id = call.argument(0) == null ? "0" : call.argument(0);
    final Object created = call.send("PUT", RequestPath.of("endpoint", id), request(call));
    if (call.wantsDocument()) {
      call.printer().document(created);
    } else {
      call.out().println("endpoint " + Text.oneLine(Tree.text(created, "id")) + " created");
    }
  }

  private static void update(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0));
    call.send("PATCH", path, request(call));
    if (call.wantsDocument()) {
      call.document(path);
    } else {
      call.out().println("endpoint " + Text.oneLine(call.argument(0)) + " changed");
    }
  }

  private static void delete(Invocation call) throws IOException {
    final String id = call.argument(0);
    final String container = call.option(EndpointCommands.CONTAINER);
    if ((id == null) == (container == null)) {
      throw new UsageException("either ID or " + EndpointCommands.CONTAINER + " is required");
    }
    final Object errors =
        id == null
            ? call.send("DELETE", RequestPath.of("endpoint"), Map.of("container-id", container))
            : call.send("DELETE", RequestPath.of("endpoint", id), null);
    if (call.wantsDocument()) {
      call.printer().document(errors);
      return;
    }
    call.out()
        .println(
            id == null
                ? "endpoints of container " + Text.oneLine(container) + " deleted"
                : "endpoint " + Text.oneLine(id) + " deleted");
    if (errors instanceof List<?> met) {
      met.forEach(error -> call.err().println("Warning: " + Text.oneLine(error.toString())));
    }
  }
}
