package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The question whether a flow would pass.
 *
 * @param from peer that opens the flow; required
 * @param to peer that it is opened to; required
 * @param verbose whether the log has more than one line for each rule
 */
public record PolicyResolutionRequest(
    @JsonProperty("from") From from,
    @JsonProperty("to") To to,
    @JsonProperty("verbose") Boolean verbose) {

  /**
   * The peer that opens a flow.
   *
   * @param labels labels of an endpoint; reserved:... or cidr:... for other peers
   */
  public record From(@JsonProperty("labels") List<String> labels) {}

  /**
   * The peer that a flow is opened to.
   *
   * @param dports destination ports, each of which is to pass; none for everything
   * @param labels labels of an endpoint; reserved:... or cidr:... for other peers
   */
  public record To(
      @JsonProperty("dports") List<Port> dports, @JsonProperty("labels") List<String> labels) {}

  /**
   * A destination port.
   *
   * @param name name of the port; not served yet
   * @param port number, or type of an ICMP message
   * @param protocol TCP, UDP, SCTP, ICMP, ICMPv6 or ANY
   */
  public record Port(
      @JsonProperty("name") String name,
      @JsonProperty("port") Integer port,
      @JsonProperty("protocol") String protocol) {}
}
