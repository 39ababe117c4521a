package agent.cli;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.command.PolicyCommands;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.help.Candidates;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.AgentClient;
import agent.client.AgentException;
import agent.client.RequestPath;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import tools.jackson.core.JacksonException;

/** Names for completions, asked of the running agent; none where it does not answer at once. */
final class AgentNames implements Candidates.LiveNames {
  private static final Duration TIMEOUT = Duration.ofMillis(500);

  private final Invocation call;
  private final LineParser<Action> parser;

  AgentNames(Invocation call, LineParser<Action> parser) {
    this.call = call;
    this.parser = parser;
  }

  @Override
  public void offer(ValueKind kind, List<String> words, BiConsumer<String, String> offer) {
    if (kind == ValueKind.COMMAND) {
      commands(words, offer);
      return;
    }
    try (AgentClient agent = AgentClient.of(address(), TIMEOUT)) {
      offer(agent, kind, words, offer);
    } catch (IOException | AgentException | JacksonException | IllegalArgumentException e) {
      return; // a completion that cannot be made is none
    }
  }

  private void commands(List<String> words, BiConsumer<String, String> offer) {
    try {
      parser
          .commandAt(words)
          .command()
          .commands()
          .forEach(command -> offer.accept(command.name(), command.summary()));
    } catch (UsageException e) {
      return; // below a command that is not there is none
    }
  }

  /** The address on the line that is being typed, else the one of every command. */
  private String address() {
    final List<String> words = call.arguments(0);
    for (int i = 0; i < words.size(); i++) {
      final String word = words.get(i);
      if ((word.equals(CommonOptions.HOST) || word.equals("-H")) && i + 1 < words.size()) {
        return words.get(i + 1);
      }
      if (word.startsWith(CommonOptions.HOST + "=")) {
        return word.substring(CommonOptions.HOST.length() + 1);
      }
    }
    return call.address();
  }

  private static void offer(
      AgentClient agent, ValueKind kind, List<String> words, BiConsumer<String, String> offer)
      throws IOException {
    switch (kind) {
      case ENDPOINT -> {
        for (final Object endpoint : Tree.list(ask(agent, "endpoint"))) {
          offer.accept(Tree.text(endpoint, "id"), labels(Tree.at(endpoint, "status", "identity")));
        }
      }
      case IDENTITY -> {
        for (final Object identity : Tree.list(ask(agent, "identity"))) {
          offer.accept(Tree.text(identity, "id"), labels(identity));
        }
      }
      case LABEL -> {
        final TreeSet<String> labels = new TreeSet<>();
        for (final Object endpoint : Tree.list(ask(agent, "endpoint"))) {
          Tree.list(endpoint, "status", "identity", "labels")
              .forEach(label -> labels.add(label.toString()));
        }
        labels.forEach(label -> offer.accept(label, ""));
      }
      case RULE_LABEL -> ruleLabels(agent).forEach(label -> offer.accept(label, ""));
      case MAP -> {
        for (final Object map : Tree.list(ask(agent, "map"), "maps")) {
          offer.accept(Tree.text(map, "name"), Text.of(Tree.at(map, "entries")) + " entries");
        }
      }
      case METRIC -> {
        final TreeSet<String> names = new TreeSet<>();
        Tree.list(ask(agent, "metrics", ""))
            .forEach(metric -> names.add(Tree.text(metric, "name")));
        names.forEach(name -> offer.accept(name, ""));
      }
      case SERVICE -> {
        for (final Object service : Tree.list(ask(agent, "service"))) {
          offer.accept(
              Tree.text(service, "spec", "id"), Tree.text(service, "spec", "flags", "name"));
        }
      }
      case PREFIX ->
          Tree.list(ask(agent, "prefilter"), "status", "realized", "deny")
              .forEach(prefix -> offer.accept(prefix.toString(), ""));
      case ADDRESS ->
          Tree.members(ask(agent, "healthz"), "ipam", "allocations")
              .forEach((address, owner) -> offer.accept(address, Text.of(owner)));
      case DAEMON_OPTION ->
          options(Tree.members(ask(agent, "config"), "status", "realized", "options"), offer);
      case ENDPOINT_OPTION ->
          options(
              Tree.members(
                  ask(agent, "endpoint", words.getFirst(), "config"), "realized", "options"),
              offer);
      default -> {
        // Other values are not known to the agent.
      }
    }
  }

  private static Object ask(AgentClient agent, String... segments) throws IOException {
    return AnswerPrinter.tree(agent.open("GET", RequestPath.of(segments), Map.of(), null));
  }

  private static String labels(Object identity) {
    return Text.of(Tree.at(identity, "labels"));
  }

  private static TreeSet<String> ruleLabels(AgentClient agent) throws IOException {
    final TreeSet<String> labels = new TreeSet<>();
    for (final Object rule : Tree.list(PolicyCommands.rules(ask(agent, "policy")))) {
      Tree.list(rule, "labels").forEach(label -> labels.add(PolicyCommands.label(label)));
    }
    return labels;
  }

  private static void options(Map<String, Object> options, BiConsumer<String, String> offer) {
    options.forEach((name, value) -> offer.accept(name + "=", "is " + Text.of(value)));
  }
}
