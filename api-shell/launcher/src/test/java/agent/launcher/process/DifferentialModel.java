package agent.launcher.process;

import agent.launcher.process.DifferentialRules.Cidr;
import agent.launcher.process.DifferentialRules.Field;
import agent.launcher.process.DifferentialRules.Http;
import agent.launcher.process.DifferentialRules.Names;
import agent.launcher.process.DifferentialRules.Peers;
import agent.launcher.process.DifferentialRules.Ports;
import agent.launcher.process.DifferentialRules.Rule;
import java.math.BigInteger;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What rules say of a flow between two ends, and of a request or a question in it: every rule is
 * read for every flow, as the contract and the decisions about it have it, without identities,
 * entries of maps or a proxy.
 */
final class DifferentialModel {
  private static final String LABEL = "[-a-z0-9_]*";

  private final List<Rule> rules;
  private final Map<String, Set<String>> names;
  private final Map<String, Set<String>> services;

  /**
   * Creates the model of some rules.
   *
   * @param names the addresses that lookups have found, by names; it may change
   * @param services the addresses of backends, by the names of services
   */
  DifferentialModel(
      List<Rule> rules, Map<String, Set<String>> names, Map<String, Set<String>> services) {
    this.rules = rules;
    this.names = names;
    this.services = services;
  }

  /** What an end is to rules. */
  enum Kind {
    WORKLOAD,
    NODE,
    WORLD
  }

  /** One end of a flow; labels are those of a workload. */
  record Party(Kind kind, Map<String, String> labels, String address) {
    boolean isWorkload() {
      return kind == Kind.WORKLOAD;
    }

    boolean isIpv6() {
      return address.indexOf(':') >= 0;
    }
  }

  /** A request as its client sends it; the lines of fields by their names. */
  record Request(String method, String path, String authority, Map<String, List<String>> fields) {
    private List<String> lines(String name) {
      return fields.getOrDefault(name, List.of());
    }

    private boolean has(String name, String value) {
      final List<String> lines = lines(name);
      return !lines.isEmpty()
          && lines.stream().allMatch(value::equals)
          && String.join(", ", lines).equals(value);
    }
  }

  /**
   * What rules say at one end.
   *
   * @param http null where requests are not judged
   * @param dns null where questions are not judged
   */
  record Side(boolean passes, List<Http> http, List<Names> dns) {
    static final Side OPEN = new Side(true, null, null);
    static final Side CLOSED = new Side(false, null, null);

    boolean isJudged() {
      return http != null || dns != null;
    }
  }

  /** What rules say of a flow. */
  record Verdict(Side client, Side server) {
    boolean passes() {
      return client.passes && server.passes;
    }

    boolean isJudged() {
      return client.isJudged() || server.isJudged();
    }

    /** Returns the fields that the server gets of a request; empty where it is denied. */
    Optional<Map<String, List<String>>> request(Request request) {
      final Map<String, List<String>> fields = new TreeMap<>(request.fields);
      for (final Side side : List.of(client, server)) {
        if (side.http != null) {
          final List<Http> met =
              side.http.stream().filter(rule -> DifferentialModel.means(rule, request)).toList();
          if (met.isEmpty()) {
            return Optional.empty();
          }
          met.forEach(rule -> rule.fields().forEach(field -> change(field, request, fields)));
        }
      }
      return Optional.of(fields);
    }

    /** Returns whether a name may be asked for. */
    boolean question(String name) {
      return client.dns == null
          || client.dns.stream().anyMatch(each -> DifferentialModel.means(each, name));
    }
  }

  private static void change(Field field, Request request, Map<String, List<String>> fields) {
    final String name = field.name();
    switch (field.mismatch() == null ? "" : field.mismatch()) {
      case "ADD" -> {
        if (!request.lines(name).contains(field.value())) {
          final List<String> lines = new ArrayList<>(fields.getOrDefault(name, List.of()));
          if (!lines.contains(field.value())) {
            lines.add(field.value());
          }
          fields.put(name, lines);
        }
      }
      case "REPLACE" -> {
        if (!request.has(name, field.value())) {
          fields.put(name, List.of(field.value()));
        }
      }
      case "DELETE" -> {
        if (!request.has(name, field.value())) {
          fields.remove(name);
        }
      }
      default -> {}
    }
  }

  private static boolean means(Http rule, Request request) {
    final String host = request.authority.split(":", 2)[0];
    if (!matches(rule.method(), request.method)
        || !matches(rule.path(), request.path)
        || !isHost(rule.host(), host)
            && !(rule.host().contains(":") && isHost(rule.host(), request.authority))) {
      return false;
    }
    if (rule.header() != null) {
      final String[] parts = rule.header().split(": ", 2);
      final boolean isMet =
          parts.length == 1 ? !request.lines(parts[0]).isEmpty() : request.has(parts[0], parts[1]);
      if (!isMet) {
        return false;
      }
    }
    return rule.fields().stream()
        .allMatch(field -> field.mismatch() != null || request.has(field.name(), field.value()));
  }

  private static boolean matches(String expression, String text) {
    return expression == null || Pattern.matches(expression, text);
  }

  private static boolean isHost(String expression, String host) {
    return expression == null
        || Pattern.compile(expression, Pattern.CASE_INSENSITIVE).matcher(host).matches();
  }

  /** A star stands for characters of one label, two at the beginning for one or more labels. */
  private static boolean means(Names rule, String name) {
    if (rule.name() != null) {
      return rule.name().equals(name);
    }
    final String pattern = rule.pattern();
    if (pattern.equals("*")) {
      return true;
    }
    final boolean isDeep = pattern.startsWith("**.");
    final String rest = isDeep ? pattern.substring(3) : pattern;
    final String expression = rest.replace(".", "\\.").replace("*", LABEL);
    return name.matches((isDeep ? "([-a-z0-9_]+\\.)+" : "") + expression);
  }

  /** Returns what the rules of both ends say. */
  Verdict verdict(Party client, Party server, boolean isTcp, int port) {
    return new Verdict(
        side(false, client, server, isTcp, port), side(true, server, client, isTcp, port));
  }

  private Side side(boolean isIngress, Party subject, Party peer, boolean isTcp, int port) {
    final List<Rule> own =
        rules.stream()
            .filter(rule -> rule.isIngress() == isIngress)
            .filter(rule -> subject.isWorkload() && selects(rule.subject(), subject))
            .toList();
    final List<Rule> meant = new ArrayList<>(own);
    meant.removeIf(
        rule ->
            !means(rule, peer)
                || !means(rule, isTcp, port)
                || !hasWhatIsRequired(peer, own, rule.isDeny()));
    if (meant.stream().anyMatch(Rule::isDeny)) {
      return Side.CLOSED;
    }
    if (own.stream().noneMatch(Rule::isEnforcing)) {
      return Side.OPEN;
    }
    return meant.isEmpty() ? Side.CLOSED : requests(meant, isTcp, port);
  }

  /** What one rule requires of peers restricts all of them that allow, or that deny. */
  private static boolean hasWhatIsRequired(Party peer, List<Rule> own, boolean isDeny) {
    return own.stream()
        .filter(rule -> rule.isDeny() == isDeny && rule.required() != null)
        .allMatch(rule -> peer.isWorkload() && selects(rule.required(), peer));
  }

  private static Side requests(List<Rule> allows, boolean isTcp, int port) {
    final List<Http> http = new ArrayList<>();
    final List<Names> dns = new ArrayList<>();
    for (final Rule rule : allows) {
      if (rule.ports().isEmpty()) {
        return Side.OPEN;
      }
      for (final Ports ports : rule.ports()) {
        if (means(ports, isTcp, port)) {
          if (ports.isOpen()) {
            return Side.OPEN;
          }
          http.addAll(ports.http() == null ? List.of() : ports.http());
          dns.addAll(ports.dns() == null ? List.of() : ports.dns());
        }
      }
    }
    return new Side(true, isTcp ? http : null, isTcp ? null : dns);
  }

  private static boolean selects(Map<String, String> selector, Party workload) {
    return workload.labels.entrySet().containsAll(selector.entrySet());
  }

  private static boolean means(Rule rule, boolean isTcp, int port) {
    return rule.ports().isEmpty()
        || rule.ports().stream().anyMatch(ports -> means(ports, isTcp, port));
  }

  private static boolean means(Ports ports, boolean isTcp, int port) {
    return (ports.protocol().equals("ANY") || ports.protocol().equals("TCP") == isTcp)
        && (ports.first() == 0 || ports.first() <= port && port <= ports.last());
  }

  private boolean means(Rule rule, Party peer) {
    final Peers peers = rule.peers();
    if (peers.isUnset()) {
      return !rule.ports().isEmpty();
    }
    if (peers.labels() != null) {
      return peer.isWorkload() && selects(peers.labels(), peer);
    }
    if (peers.entities() != null) {
      return peers.entities().stream().anyMatch(entity -> isEntity(entity, peer));
    }
    return peer.kind == Kind.WORLD && meansAddress(peers, peer.address);
  }

  private static boolean isEntity(String entity, Party peer) {
    return switch (entity) {
      case "all" -> true;
      case "world" -> peer.kind == Kind.WORLD;
      case "world-ipv4" -> peer.kind == Kind.WORLD && !peer.isIpv6();
      case "world-ipv6" -> peer.kind == Kind.WORLD && peer.isIpv6();
      case "cluster" -> peer.kind != Kind.WORLD;
      case "host" -> peer.kind == Kind.NODE;
      default -> false;
    };
  }

  private boolean meansAddress(Peers peers, String address) {
    if (peers.cidr() != null) {
      final Cidr cidr = peers.cidr();
      return holds(cidr.prefix(), address)
          && cidr.except().stream().noneMatch(part -> holds(part, address));
    }
    if (peers.service() != null) {
      return services.getOrDefault(peers.service(), Set.of()).contains(address);
    }
    final Set<String> found = new HashSet<>();
    names.forEach(
        (name, addresses) -> {
          if (means(peers.names(), name)) {
            found.addAll(addresses);
          }
        });
    return found.contains(address);
  }

  private static boolean holds(String prefix, String address) {
    final String[] parts = prefix.split("/");
    final byte[] base = InetAddress.ofLiteral(parts[0]).getAddress();
    final byte[] octets = InetAddress.ofLiteral(address).getAddress();
    final int hostBits = base.length * 8 - Integer.parseInt(parts[1]);
    return base.length == octets.length
        && new BigInteger(1, base)
            .shiftRight(hostBits)
            .equals(new BigInteger(1, octets).shiftRight(hostBits));
  }
}
