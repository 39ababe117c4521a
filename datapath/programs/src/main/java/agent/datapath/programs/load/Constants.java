package agent.datapath.programs.load;

import agent.bindings.bpf.BpfObject;
import agent.maps.btf.DataSectionLayout;
import agent.maps.layout.BalancerConfigFlyweight;
import agent.maps.layout.NodeConfigFlyweight;
import agent.maps.layout.PrefilterConfigFlyweight;
import agent.maps.layout.SocketConfigFlyweight;
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

  /** Returns {@code balancer_config}, cleared. */
  BalancerConfigFlyweight balancer() {
    return new BalancerConfigFlyweight()
        .wrap(at("balancer_config", BalancerConfigFlyweight.LENGTH), 0)
        .clear();
  }

  /** Returns {@code socket_config}, cleared. */
  SocketConfigFlyweight socket() {
    return new SocketConfigFlyweight()
        .wrap(at("socket_config", SocketConfigFlyweight.LENGTH), 0)
        .clear();
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
