package agent.policy.request;

import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import java.util.ArrayList;
import java.util.List;

/**
 * One rule for HTTP requests. A request matches where everything does that is there; null is a part
 * that is not. Immutable; asking allocates only for changes, and where an {@link Expression} is too
 * large.
 *
 * @param method of the method
 * @param path of the path with the query
 * @param host of the host
 * @param headers header fields that the request must have
 * @param changes header fields and what is done where the request lacks one
 */
public record HttpRule(
    Expression method,
    Expression path,
    Expression host,
    List<Header> headers,
    List<HeaderChange> changes) {
  /**
   * A header field.
   *
   * @param name its name
   * @param value its value; null for any
   */
  public record Header(String name, String value) {
    @Override
    public String toString() {
      return value == null ? name : name + ": " + value;
    }
  }

  /** Returns whether the rule allows a request. */
  public boolean allows(HttpRequest request) {
    if (method != null && !method.matches(request.method())
        || path != null && !path.matches(request.path())
        || host != null && !isHostMet(request)) {
      return false;
    }
    for (int i = 0; i < headers.size(); i++) {
      if (!request.hasHeader(headers.get(i).name(), headers.get(i).value())) {
        return false;
      }
    }
    return true;
  }

  /** Without a port in the expression, what the client puts after the host does not count. */
  private boolean isHostMet(HttpRequest request) {
    return host.matches(request.host()) || namesPort(host) && host.matches(request.authority());
  }

  /** A colon that is no part of an IPv6 address in brackets or of a group begins a port. */
  private static boolean namesPort(Expression host) {
    final String text = host.toString();
    final int address = text.startsWith("\\[") ? text.indexOf("\\]") : -1;
    for (int i = text.indexOf(':', address + 1); i >= 0; i = text.indexOf(':', i + 1)) {
      if (i == 0 || text.charAt(i - 1) != '?' && text.charAt(i - 1) != '[') {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds the changes of a request that the rule allows.
   *
   * @param others the changes so far, to which nothing is added where nothing changes
   * @return the changes with those of this rule, each once
   */
  public List<HeaderChange> addChanges(HttpRequest request, List<HeaderChange> others) {
    List<HeaderChange> all = others;
    for (int i = 0; i < changes.size(); i++) {
      final HeaderChange change = changes.get(i);
      if (isDue(change, request) && !all.contains(change)) {
        all = new ArrayList<>(all);
        all.add(change);
      }
    }
    return all;
  }

  /** A line is added where no other has the value; the others wait for the field to have it. */
  private static boolean isDue(HeaderChange change, HttpRequest request) {
    return change.action() == Action.ADD
        ? !request.hasHeaderLine(change.name(), change.value())
        : !request.hasHeader(change.name(), change.value());
  }

  /** Returns the parts of the rule in readable form. */
  @Override
  public String toString() {
    final List<String> parts = new ArrayList<>();
    add(parts, "method", method);
    add(parts, "path", path);
    add(parts, "host", host);
    headers.forEach(header -> parts.add("header " + header));
    changes.forEach(
        change ->
            parts.add(
                "header %s, else %s"
                    .formatted(new Header(change.name(), change.value()), change.action())));
    return parts.isEmpty() ? "every request" : String.join(", ", parts);
  }

  private static void add(List<String> parts, String name, Expression expression) {
    if (expression != null) {
      parts.add(name + " " + expression);
    }
  }
}
