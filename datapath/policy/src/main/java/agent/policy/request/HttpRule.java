package agent.policy.request;

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
        || host != null && !host.matches(request.host())) {
      return false;
    }
    for (int i = 0; i < headers.size(); i++) {
      if (!request.hasHeader(headers.get(i).name(), headers.get(i).value())) {
        return false;
      }
    }
    return true;
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
      if (!request.hasHeader(change.name(), change.value()) && !all.contains(change)) {
        all = new ArrayList<>(all);
        all.add(change);
      }
    }
    return all;
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
