package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import tools.jackson.databind.annotation.JsonDeserialize;

/**
 * Ports, and L7 rules on them.
 *
 * @param ports ports
 * @param rules L7 rules
 */
public record PortRuleModel(
    @JsonProperty("ports") List<Port> ports, @JsonProperty("rules") L7Rules rules) {

  /**
   * A port or a range of ports.
   *
   * @param endPort last port of a range
   * @param port number or name; absent for a protocol without ports
   * @param protocol TCP, UDP, SCTP, ANY, or a protocol without ports
   */
  public record Port(
      @JsonProperty("endPort") Integer endPort,
      @JsonProperty("port") @JsonDeserialize(using = NumberOrTextReader.class) String port,
      @JsonProperty("protocol") String protocol) {}

  /**
   * Rules on requests.
   *
   * @param dns names that may be asked for
   * @param http HTTP requests that may pass
   */
  public record L7Rules(
      @JsonProperty("dns") List<FqdnModel> dns, @JsonProperty("http") List<Http> http) {}

  /**
   * An HTTP rule.
   *
   * @param headerMatches headers, and what is done where they do not match
   * @param headers headers
   * @param host anchored regular expression
   * @param method anchored regular expression
   * @param path anchored regular expression
   */
  public record Http(
      @JsonProperty("headerMatches") List<HeaderMatch> headerMatches,
      @JsonProperty("headers") List<String> headers,
      @JsonProperty("host") String host,
      @JsonProperty("method") String method,
      @JsonProperty("path") String path) {}

  /**
   * A header, and what is done with a request that does not have it.
   *
   * @param mismatch LOG, ADD, DELETE or REPLACE; absent: the rule does not match
   * @param name name of the header
   * @param value its value; absent for any
   */
  public record HeaderMatch(
      @JsonProperty("mismatch") String mismatch,
      @JsonProperty("name") String name,
      @JsonProperty("value") String value) {}
}
