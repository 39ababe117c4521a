package agent.launcher.process;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Rules as plain data, and as the API takes them. */
final class DifferentialRules {
  private DifferentialRules() {}

  /** A prefix without some parts of it. */
  record Cidr(String prefix, List<String> except) {}

  /** Names, by a name or by a pattern. */
  record Names(String name, String pattern) {
    Map<String, String> written() {
      return name == null ? Map.of("matchPattern", pattern) : Map.of("matchName", name);
    }
  }

  /** A field that a request has to have; with {@code mismatch} it is changed instead. */
  record Field(String name, String value, String mismatch) {
    Map<String, String> written() {
      return mismatch == null
          ? Map.of("name", name, "value", value)
          : Map.of("name", name, "value", value, "mismatch", mismatch);
    }
  }

  /**
   * A rule of requests; a part that is null is not asked for.
   *
   * @param header of {@code headers[]}: a name, or a name and a value
   */
  record Http(String method, String path, String host, String header, List<Field> fields) {
    Map<String, Object> written() {
      final Map<String, Object> rule = new HashMap<>();
      rule.put("method", method);
      rule.put("path", path);
      rule.put("host", host);
      rule.put("headers", header == null ? null : List.of(header));
      rule.put("headerMatches", fields.stream().map(Field::written).toList());
      rule.values().removeIf(part -> part == null || part.equals(List.of()));
      return rule;
    }
  }

  /**
   * Who is at the other end: at most one part is not null.
   *
   * @param entities an empty list names no peer
   * @param service the name of a service, whose backends are meant
   */
  record Peers(
      Map<String, String> labels, List<String> entities, Cidr cidr, Names names, String service) {
    static final Peers UNSET = new Peers(null, null, null, null, null);

    boolean isUnset() {
      return equals(UNSET);
    }

    private void write(Map<String, Object> element, String prefix) {
      if (labels != null) {
        element.put(prefix + "Endpoints", List.of(Map.of("matchLabels", labels)));
      } else if (entities != null) {
        element.put(prefix + "Entities", entities);
      } else if (cidr != null && cidr.except.isEmpty()) {
        element.put(prefix + "CIDR", List.of(cidr.prefix));
      } else if (cidr != null) {
        element.put(
            prefix + "CIDRSet", List.of(Map.of("cidr", cidr.prefix, "except", cidr.except)));
      } else if (names != null) {
        element.put(prefix + "FQDNs", List.of(names.written()));
      } else if (service != null) {
        element.put(
            prefix + "Services", List.of(Map.of("k8sService", Map.of("serviceName", service))));
      }
    }
  }

  /**
   * Ports from one to another.
   *
   * @param http null where the ports have no rules of requests
   * @param dns null where they have no rules of names
   */
  record Ports(int first, int last, String protocol, List<Http> http, List<Names> dns) {
    Map<String, Object> written() {
      final Map<String, Object> written = new HashMap<>();
      written.put(
          "ports",
          List.of(Map.of("port", Integer.toString(first), "endPort", last, "protocol", protocol)));
      if (http != null) {
        written.put("rules", Map.of("http", http.stream().map(Http::written).toList()));
      } else if (dns != null) {
        written.put("rules", Map.of("dns", dns.stream().map(Names::written).toList()));
      }
      return written;
    }

    boolean isOpen() {
      return http == null && dns == null;
    }
  }

  /**
   * A rule with one element.
   *
   * @param isEnforcing false where it does not turn enforcement on
   * @param required labels that all peers of the endpoint need; null for none
   * @param ports without any they are all meant
   */
  record Rule(
      Map<String, String> subject,
      boolean isIngress,
      boolean isDeny,
      boolean isEnforcing,
      Map<String, String> required,
      Peers peers,
      List<Ports> ports) {
    /** Returns the rule without what it says of requests and names. */
    Rule withoutRequests() {
      final List<Ports> open = new ArrayList<>();
      for (final Ports each : ports) {
        open.add(new Ports(each.first, each.last, each.protocol, null, null));
      }
      return new Rule(subject, isIngress, isDeny, isEnforcing, required, peers, open);
    }

    Map<String, Object> written() {
      final String prefix = isIngress ? "from" : "to";
      final Map<String, Object> element = new HashMap<>();
      peers.write(element, prefix);
      if (required != null) {
        element.put(prefix + "Requires", List.of(Map.of("matchLabels", required)));
      }
      if (!ports.isEmpty()) {
        element.put("toPorts", ports.stream().map(Ports::written).toList());
      }
      final String direction = isIngress ? "ingress" : "egress";
      final Map<String, Object> rule = new HashMap<>();
      rule.put("labels", List.of(Map.of("key", "random"))); // a document replaces the one before
      rule.put("endpointSelector", Map.of("matchLabels", subject));
      rule.put(direction + (isDeny ? "Deny" : ""), List.of(element));
      if (!isEnforcing) {
        rule.put("enableDefaultDeny", Map.of(direction, false));
      }
      return rule;
    }
  }
}
