package agent.policy.read;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.rule.IcmpTypeNames;
import agent.policy.rule.PortMatch;
import agent.policy.rule.PortName;
import agent.policy.rule.PortTerm;
import agent.policy.rule.RequestRules;
import agent.policy.spec.NamedPort;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks {@code toPorts} and {@code icmps}. */
final class PortReader {
  private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,9}");
  private static final Pattern INTEGER = Pattern.compile("-?[0-9]+");
  private static final int HIGHEST = 65535;
  private static final int HIGHEST_TYPE = 255;
  private static final int SCTP = 132;

  /** Numbers of protocols without ports, by their names in rules. */
  private static final Map<String, Integer> PORTLESS = portless();

  private final PolicyDirection direction;
  private final boolean deny;

  PortReader(PolicyDirection direction, boolean deny) {
    this.direction = direction;
    this.deny = deny;
  }

  private static Map<String, Integer> portless() {
    final Map<String, Integer> numbers = new LinkedHashMap<>();
    numbers.put("ICMP", 1);
    numbers.put("ICMPv6", 58);
    numbers.put("VRRP", 112); // RFC 9568
    numbers.put("IGMP", 2); // RFC 9776
    return numbers;
  }

  List<PortTerm> read(String path, PeerRuleSpec spec) {
    if (spec.toPorts() != null && spec.icmps() != null) {
      throw Refusal.invalid(
          path, "toPorts and icmps cannot be combined in one element: use one element for each");
    }
    if (spec.toPorts() != null) {
      return ports(path + ".toPorts", spec.toPorts());
    }
    return spec.icmps() != null ? icmps(path + ".icmps", spec.icmps()) : List.of(PortTerm.ALL);
  }

  private List<PortTerm> ports(String path, List<PortRuleSpec> rules) {
    final List<PortTerm> terms = new ArrayList<>();
    checkFilled(path, rules, "ports");
    for (int i = 0; i < rules.size(); i++) {
      final String element = path + "[" + i + "]";
      final PortRuleSpec rule = RuleReader.present(element, rules.get(i));
      if (rule.unserved() != null && !rule.unserved().isEmpty()) {
        throw Refusal.invalid(element + "." + rule.unserved().getFirst(), "is not supported yet");
      }
      final List<PortSpec> ports = RuleReader.present(element + ".ports", rule.ports());
      checkFilled(element + ".ports", ports, "ports");
      final RequestRules requests =
          rule.rules() == null
              ? null
              : RequestRuleReader.read(element + ".rules", rule.rules(), direction, deny);
      for (int j = 0; j < ports.size(); j++) {
        final String field = element + ".ports[" + j + "]";
        final PortSpec port = RuleReader.present(field, ports.get(j));
        terms.add(requests == null ? port(field, port) : port(field, port, requests));
      }
    }
    return terms;
  }

  /** An empty list could be read as nothing or as everything, so it is refused. */
  private static void checkFilled(String path, List<?> list, String what) {
    if (list.isEmpty()) {
      throw Refusal.invalid(path, "is empty: omit the field to match all " + what);
    }
  }

  private static PortTerm port(String path, PortSpec spec) {
    final String protocol = protocol(path + ".protocol", spec.protocol());
    final Integer portless = PORTLESS.get(protocol);
    if (portless != null) {
      checkNoPort(path, protocol, spec);
      return new PortTerm(protocol, List.of(PortMatch.ofProtocol(portless)));
    }
    final Optional<String> name = NamedPort.name(RuleReader.present(path + ".port", spec.port()));
    if (name.isPresent()) {
      if (spec.endPort() != null) {
        throw Refusal.invalid(path + ".endPort", "is not allowed with a port name");
      }
      return new PortTerm(
          protocol + "/" + name.get(),
          List.of(),
          new PortName(name.get(), protocolNumbers(protocol)),
          null);
    }
    final int first = number(path + ".port", spec.port());
    final int last = spec.endPort() == null ? first : spec.endPort();
    if (spec.endPort() != null && (first == 0 || last < first || last > HIGHEST)) {
      throw Refusal.invalid(
          path + ".endPort",
          first == 0
              ? "is not allowed with port 0, which matches every port"
              : "'" + last + "' is not a port from " + first + " to " + HIGHEST);
    }
    final List<PortMatch> matches = new ArrayList<>();
    for (final int number : protocolNumbers(protocol)) {
      if (first == 0) {
        matches.add(PortMatch.ofProtocol(number));
      } else {
        matches.addAll(PortMatch.range(number, first, last));
      }
    }
    final String range = first == 0 ? "" : "/" + first + (last == first ? "" : "-" + last);
    return new PortTerm(protocol + range, matches);
  }

  /** HTTP comes by TCP; DNS by UDP and TCP, which {@code ANY} means here. */
  private static PortTerm port(String path, PortSpec spec, RequestRules requests) {
    final PortTerm term = port(path, spec);
    final boolean isHttp = requests.kind() == RedirectKind.HTTP;
    final String protocol = protocol(path + ".protocol", spec.protocol());
    final boolean isServed =
        isHttp ? protocol.equals("TCP") : List.of("UDP", "TCP", "ANY").contains(protocol);
    if (!isServed) {
      throw Refusal.invalid(
          path + ".protocol",
          "'%s': %s"
              .formatted(
                  protocol,
                  isHttp ? "http rules require TCP" : "dns rules require UDP, TCP or ANY"));
    }
    if (spec.port().equals("0")) {
      throw Refusal.invalid(path + ".port", "'0': http and dns rules require a port");
    }
    return new PortTerm(
        term.text() + " with " + requests.text(),
        term.matches().stream().filter(match -> match.protocol() != SCTP).toList(),
        term.name() == null
            ? null
            : new PortName(
                term.name().name(),
                term.name().protocols().stream().filter(number -> number != SCTP).toList()),
        requests);
  }

  /** Port 0 means every port also here. */
  private static void checkNoPort(String path, String protocol, PortSpec spec) {
    if (spec.port() != null && !spec.port().equals("0")) {
      throw Refusal.invalid(
          path + ".port", "'" + spec.port() + "': " + protocol + " has no ports: omit the field");
    }
    if (spec.endPort() != null) {
      throw Refusal.invalid(path + ".endPort", protocol + " has no ports: omit the field");
    }
  }

  private static String protocol(String path, String text) {
    if (text == null || text.isEmpty()) {
      return "ANY";
    }
    return Stream.concat(Stream.of("TCP", "UDP", "SCTP", "ANY"), PORTLESS.keySet().stream())
        .filter(text::equalsIgnoreCase)
        .findFirst()
        .orElseThrow(
            () ->
                Refusal.invalid(
                    path,
                    "'"
                        + text
                        + "' is not one of TCP, UDP, SCTP, ANY, "
                        + String.join(", ", PORTLESS.keySet())));
  }

  private static List<Integer> protocolNumbers(String name) {
    return switch (name) {
      case "TCP" -> List.of(6);
      case "UDP" -> List.of(17);
      case "SCTP" -> List.of(SCTP);
      default -> List.of(6, 17, SCTP);
    };
  }

  private static int number(String path, String text) {
    if (NUMBER.matcher(text).matches() && Long.parseLong(text) <= HIGHEST) {
      return Integer.parseInt(text);
    }
    throw Refusal.invalid(
        path,
        INTEGER.matcher(text).matches()
            ? "'" + text + "' is not a valid port"
            : "'"
                + text
                + "' is neither a port number nor a valid service name (RFC 6335 section 5.1)");
  }

  private static List<PortTerm> icmps(String path, List<IcmpRuleSpec> rules) {
    final List<PortTerm> terms = new ArrayList<>();
    checkFilled(path, rules, "traffic");
    for (int i = 0; i < rules.size(); i++) {
      final String element = path + "[" + i + "]";
      final List<IcmpFieldSpec> fields =
          RuleReader.present(
              element + ".fields", RuleReader.present(element, rules.get(i)).fields());
      checkFilled(element + ".fields", fields, "traffic");
      for (int j = 0; j < fields.size(); j++) {
        final String field = element + ".fields[" + j + "]";
        terms.add(icmp(field, RuleReader.present(field, fields.get(j))));
      }
    }
    return terms;
  }

  private static PortTerm icmp(String path, IcmpFieldSpec spec) {
    final String family = spec.family() == null ? "IPv4" : spec.family();
    final String type = RuleReader.present(path + ".type", spec.type());
    return switch (family) {
      case "IPv4" -> message("ICMP", 1, messageType(path, type, family, IcmpTypeNames.IPV4));
      case "IPv6" -> message("ICMPv6", 58, messageType(path, type, family, IcmpTypeNames.IPV6));
      default ->
          throw Refusal.invalid(path + ".family", "'" + family + "' is neither IPv4 nor IPv6");
    };
  }

  private static PortTerm message(String name, int protocol, int type) {
    return new PortTerm(name + "/" + type, List.of(PortMatch.of(protocol, type)));
  }

  private static int messageType(
      String path, String text, String family, Map<String, Integer> names) {
    if (INTEGER.matcher(text).matches()) {
      if (NUMBER.matcher(text).matches() && Long.parseLong(text) <= HIGHEST_TYPE) {
        return Integer.parseInt(text);
      }
      throw Refusal.invalid(path + ".type", "'" + text + "' is not a message type from 0 to 255");
    }
    final Integer named = names.get(text);
    if (named == null) {
      throw Refusal.invalid(
          path + ".type",
          "'%s' is neither a number from 0 to 255 nor an ICMP message of %s: %s"
              .formatted(text, family, String.join(", ", names.keySet())));
    }
    return named;
  }
}
