package agent.datapath.manager.load;

import agent.bindings.BpfObject;
import agent.datapath.manager.spec.EndpointSpec;
import agent.maps.btf.DataSectionLayout;
import agent.maps.layout.EndpointConfigFlyweight;
import agent.maps.layout.NodeConfigFlyweight;
import agent.maps.layout.PrefilterConfigFlyweight;
import agent.types.IpAddress;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The load-time constants of one BPF object: its {@code .rodata} before it is loaded, located by
 * BTF.
 */
public final class Constants {
  static final String SECTION = ".rodata";

  private final DataSectionLayout layout;
  private final UnsafeBuffer buffer;

  Constants(DataSectionLayout layout, BpfObject object) {
    this.layout = layout;
    final MemorySegment rodata = object.rodata();
    buffer = new UnsafeBuffer(rodata.address(), (int) rodata.byteSize());
  }

  /** Returns {@code node_config}, cleared. */
  NodeConfigFlyweight node() {
    return new NodeConfigFlyweight().wrap(at("node_config", NodeConfigFlyweight.LENGTH), 0).clear();
  }

  /** Returns {@code prefilter_config}, cleared. */
  PrefilterConfigFlyweight prefilter() {
    return new PrefilterConfigFlyweight()
        .wrap(at("prefilter_config", PrefilterConfigFlyweight.LENGTH), 0)
        .clear();
  }

  /** Writes {@code endpoint_config} from the specification of an endpoint. */
  public void endpoint(EndpointSpec endpoint) {
    final EndpointConfigFlyweight config =
        new EndpointConfigFlyweight()
            .wrap(at("endpoint_config", EndpointConfigFlyweight.LENGTH), 0)
            .clear()
            .endpointId(endpoint.id())
            .ifindex(endpoint.ifindex())
            .options(endpoint.options())
            .aggregation(endpoint.aggregation())
            .mac(endpoint.mac().bits())
            .hostMac(endpoint.hostMac().bits());
    final IpAddress ipv4 = endpoint.ipv4();
    if (ipv4 != null) {
      config.hasIpv4(1).ipv4((int) ipv4.low());
    }
    final IpAddress ipv6 = endpoint.ipv6();
    if (ipv6 != null) {
      config.hasIpv6(1).ipv6(ipv6.high(), ipv6.low());
    }
  }

  /** Returns whether the object declares the variable. */
  boolean has(String variable) {
    return layout.has(variable);
  }

  private UnsafeBuffer at(String variable, int length) {
    final DataSectionLayout.Location location = layout.variable(variable);
    if (location.size() != length) {
      throw new IllegalStateException(
          "%s: %d bytes in the object, %d in the agent"
              .formatted(variable, location.size(), length));
    }
    return new UnsafeBuffer(buffer, location.offset(), length);
  }
}
