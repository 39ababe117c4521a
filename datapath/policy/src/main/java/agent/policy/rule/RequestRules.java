package agent.policy.rule;

import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRule;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The checked rules of requests of one element of {@code toPorts}.
 *
 * @param kind the proxy that asks for them
 * @param http HTTP requests that may pass; empty for another kind
 * @param dns names that may be asked for; empty for another kind
 */
public record RequestRules(RedirectKind kind, List<HttpRule> http, List<NamePattern> dns) {
  /** Returns the rules in readable form, one each. */
  public List<String> lines() {
    return Stream.concat(
            http.stream().map(HttpRule::toString), dns.stream().map(name -> "name " + name))
        .toList();
  }

  /** Returns all of it in one line. */
  public String text() {
    return lines().stream().collect(Collectors.joining("; ", kind + " ", ""));
  }
}
