package agent.policy.spec;

import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import java.util.List;

/**
 * The field {@code toPorts[].rules}: one of the two lists is there. Null is a field that is not
 * there.
 *
 * @param http the HTTP requests that may pass: those that match one of them
 * @param dns the DNS names that may be asked for
 */
public record RequestRuleSpec(List<HttpSpec> http, List<FqdnSpec> dns) {
  /**
   * One of {@code http}: a request matches where all of it does. Expressions have the syntax of RE2
   * and match the whole text.
   *
   * @param method an expression for the method
   * @param path an expression for the path with the query
   * @param host an expression for the host without the port, in which case does not matter
   * @param headers header fields that the request must have: {@code Name} or {@code Name: value}
   * @param headerMatches header fields, and what is done with a request that lacks one
   */
  public record HttpSpec(
      String method,
      String path,
      String host,
      List<String> headers,
      List<HeaderMatchSpec> headerMatches) {}

  /**
   * One of {@code headerMatches}.
   *
   * @param name the name of the field
   * @param value its value; null for any
   * @param mismatch {@code LOG}, {@code ADD}, {@code DELETE} or {@code REPLACE}: the request passes
   *     and this is done; null: the rule does not match
   */
  public record HeaderMatchSpec(String name, String value, String mismatch) {}
}
