package agent.cli.event;

import agent.cli.output.Tree;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What an event says of an HTTP request or a DNS question, for people. */
final class RequestText {
  /** Types of records (RFC 1035 section 3.2.2, 3596, 2782, 9460). */
  private static final Map<String, String> TYPES =
      Map.ofEntries(
          Map.entry("1", "A"),
          Map.entry("2", "NS"),
          Map.entry("5", "CNAME"),
          Map.entry("6", "SOA"),
          Map.entry("12", "PTR"),
          Map.entry("15", "MX"),
          Map.entry("16", "TXT"),
          Map.entry("28", "AAAA"),
          Map.entry("33", "SRV"),
          Map.entry("64", "SVCB"),
          Map.entry("65", "HTTPS"),
          Map.entry("255", "ANY"));

  /** Codes of responses (RFC 1035 section 4.1.1). */
  private static final List<String> CODES =
      List.of("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED");

  private RequestText() {}

  /** Returns the text of an event of the kind {@code l7}. */
  static String of(Map<String, Object> event) {
    return event.containsKey("fqdn") ? question(event) : request(event);
  }

  private static String request(Map<String, Object> event) {
    final String status = Tree.text(event, "status");
    return "%s %s %s%s%s, %s ms"
        .formatted(
            Tree.text(event, "protocol"),
            Tree.text(event, "method"),
            Tree.text(event, "host"),
            Tree.text(event, "path"),
            status.equals("0") ? "" : ", " + status,
            Tree.text(event, "duration-ms"));
  }

  private static String question(Map<String, Object> event) {
    final String type = Tree.text(event, "type");
    final String addresses =
        Tree.list(event, "ips").stream().map(Object::toString).collect(Collectors.joining(" "));
    return "DNS %s %s%s%s"
        .formatted(
            TYPES.getOrDefault(type, "TYPE" + type), // RFC 3597 section 5
            Tree.text(event, "fqdn"),
            event.containsKey("response-code") ? ", " + code(event) : "",
            addresses.isEmpty() ? "" : " " + addresses);
  }

  private static String code(Map<String, Object> event) {
    final int code = Integer.parseInt(Tree.text(event, "response-code"));
    return code < CODES.size() ? CODES.get(code) : "code " + code;
  }
}
