package agent.contract.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Replacement of the orchestrator proxy.
 *
 * @param deviceList devices
 * @param devices device names
 * @param directRoutingDevice device of direct routing
 * @param features features
 * @param mode mode
 */
public record ProxyReplacementModel(
    @JsonProperty("deviceList") List<Device> deviceList,
    @JsonProperty("devices") List<String> devices,
    @JsonProperty("directRoutingDevice") String directRoutingDevice,
    @JsonProperty("features") Features features,
    @JsonProperty("mode") String mode) {

  /**
   * A device.
   *
   * @param ip addresses
   * @param name name
   */
  public record Device(@JsonProperty("ip") List<String> ip, @JsonProperty("name") String name) {}

  /**
   * Features.
   *
   * @param bpfSocketLBHostnsOnly socket load balancing in the host namespace only
   * @param externalIPs external IPs
   * @param gracefulTermination graceful termination
   * @param hostPort host ports
   * @param hostReachableServices services from the host
   * @param nat46X64 NAT between families
   * @param nodePort node ports
   * @param sessionAffinity session affinity
   * @param socketLB socket load balancing
   * @param socketLBTracing its tracing
   */
  public record Features(
      @JsonProperty("bpfSocketLBHostnsOnly") Boolean bpfSocketLBHostnsOnly,
      @JsonProperty("externalIPs") Feature externalIPs,
      @JsonProperty("gracefulTermination") Feature gracefulTermination,
      @JsonProperty("hostPort") Feature hostPort,
      @JsonProperty("hostReachableServices") HostReachableServices hostReachableServices,
      @JsonProperty("nat46X64") Nat46X64 nat46X64,
      @JsonProperty("nodePort") NodePort nodePort,
      @JsonProperty("sessionAffinity") Feature sessionAffinity,
      @JsonProperty("socketLB") Feature socketLB,
      @JsonProperty("socketLBTracing") Feature socketLBTracing) {}

  /**
   * A feature.
   *
   * @param enabled enabled
   */
  public record Feature(@JsonProperty("enabled") Boolean enabled) {}

  /**
   * Services from the host.
   *
   * @param enabled enabled
   * @param protocols protocols
   */
  public record HostReachableServices(
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("protocols") List<String> protocols) {}

  /**
   * NAT between families.
   *
   * @param enabled enabled
   * @param gateway gateway
   * @param service service
   */
  public record Nat46X64(
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("gateway") Gateway gateway,
      @JsonProperty("service") Feature service) {}

  /**
   * NAT gateway.
   *
   * @param enabled enabled
   * @param prefixes prefixes
   */
  public record Gateway(
      @JsonProperty("enabled") Boolean enabled, @JsonProperty("prefixes") List<String> prefixes) {}

  /**
   * Node ports.
   *
   * @param acceleration acceleration
   * @param algorithm algorithm
   * @param dsrMode direct server return
   * @param enabled enabled
   * @param lutSize lookup table size
   * @param mode mode
   * @param portMax last port
   * @param portMin first port
   */
  public record NodePort(
      @JsonProperty("acceleration") String acceleration,
      @JsonProperty("algorithm") String algorithm,
      @JsonProperty("dsrMode") String dsrMode,
      @JsonProperty("enabled") Boolean enabled,
      @JsonProperty("lutSize") Integer lutSize,
      @JsonProperty("mode") String mode,
      @JsonProperty("portMax") Integer portMax,
      @JsonProperty("portMin") Integer portMin) {}
}
