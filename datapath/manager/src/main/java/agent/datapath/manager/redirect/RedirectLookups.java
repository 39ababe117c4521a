package agent.datapath.manager.redirect;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapProperties;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The flows of proxies for a process that may look them up and change nothing: its descriptors of
 * the maps are for reading alone, and serve without a capability once they are open. Any thread may
 * ask.
 */
public final class RedirectLookups {
  static final List<MapProperties> MAPS =
      List.of(
          MapCatalog.CONNTRACK4_TCP,
          MapCatalog.CONNTRACK4_ANY,
          MapCatalog.CONNTRACK4_OVERFLOW,
          MapCatalog.CONNTRACK6_TCP,
          MapCatalog.CONNTRACK6_ANY,
          MapCatalog.CONNTRACK6_OVERFLOW,
          MapCatalog.IPCACHE4,
          MapCatalog.IPCACHE6);

  private final ProxiedFlows flows;
  private final JudgedServers servers;
  private final FlowIdentities identities;

  private RedirectLookups(Map<String, BpfMap> maps, NodeRedirects.Source source) {
    flows = new ProxiedFlows(map -> maps.get(map.name()));
    servers = new JudgedServers(map -> maps.get(map.name()));
    identities =
        new FlowIdentities(
            map -> maps.get(map.name()), source.worldIdentity4(), source.worldIdentity6());
  }

  /**
   * Opens the maps.
   *
   * @throws BindingsException where a pin cannot be opened
   */
  public static RedirectLookups open(NodeRedirects.Source source) {
    final Map<String, BpfMap> maps = new HashMap<>();
    for (final MapProperties map : MAPS) {
      final Path pin = source.pins().get(map.name());
      final int fd = BpfFileSystem.openReadOnly(pin);
      if (fd < 0) {
        throw new BindingsException("map " + map.name() + ": open " + pin, fd);
      }
      final MapDefinition definition = MapDefinition.of(MapDescription.of(fd).spec());
      maps.put(map.name(), BpfMap.adopt(fd, definition, ""));
    }
    return new RedirectLookups(maps, source);
  }

  /**
   * Returns the flow between a client and a proxy; see {@link
   * agent.datapath.spec.RedirectProxy#find}.
   *
   * @param proxy the address of the proxy
   */
  public Optional<RedirectedFlow> find(
      int protocol, IpAddress client, int clientPort, IpAddress proxy, int port) {
    return flows.find(protocol, client, clientPort, proxy, port);
  }

  /** Returns a flow with the identities that its ends have now. */
  public RedirectedFlow refresh(RedirectedFlow flow) {
    return identities.refresh(flow);
  }

  /** Returns why no proxy may connect to the server of a flow, or empty where one may. */
  public Optional<String> refusal(RedirectedFlow flow) {
    return servers.refusal(flow);
  }
}
