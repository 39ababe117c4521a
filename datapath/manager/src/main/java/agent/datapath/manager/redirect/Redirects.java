package agent.datapath.manager.redirect;

import agent.bindings.bpf.BpfObject;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.ComparedTables;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.layout.RedirectKind;
import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Realization;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The maps that send flows to proxies. The sockets of a former run are gone with it, and its
 * proxies do not listen: their ports are remembered, so that those of this run take them and flows
 * that have entries go on where that is possible.
 */
public final class Redirects implements NodeRedirects {
  private final DatapathConductor conductor;
  private final DatapathContext context;
  private final ProxiedFlows flows;
  private final JudgedServers servers;
  private final FlowIdentities identities;
  private final ImmediateChanges changes;
  private final DesiredTable proxies;
  private final DesiredTable sockets;
  private final Check guard;
  private final UnsafeBuffer proxyKey = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer proxyPort = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer socketKey =
      new UnsafeBuffer(new byte[RedirectSocketKeyFlyweight.LENGTH]);
  private final UnsafeBuffer socketValue =
      new UnsafeBuffer(new byte[RedirectSocketFlyweight.LENGTH]);
  private final RedirectSocketKeyFlyweight socketOf =
      new RedirectSocketKeyFlyweight().wrap(socketKey, 0);
  private final RedirectSocketFlyweight socket = new RedirectSocketFlyweight().wrap(socketValue, 0);
  private final Function<String, Path> pin;
  private final ProxyFilterPins filters;
  private final Map<RedirectKind, Integer> previous = new EnumMap<>(RedirectKind.class);

  /**
   * Adopts the open maps of a previous run.
   *
   * @param loader loads an object
   */
  public Redirects(
      DatapathConductor conductor,
      DatapathContext context,
      OpenMaps maps,
      KernelFaults faults,
      Repairs repairs,
      Pins pins,
      Function<ProgramFile, CompletableFuture<BpfObject>> loader) {
    this.conductor = conductor;
    this.context = context;
    pin = name -> maps.pin(MapCatalog.named(name).orElseThrow().pinName());
    filters = new ProxyFilterPins(pins, loader);
    flows = new ProxiedFlows(maps::get);
    servers = new JudgedServers(maps::get);
    identities = new FlowIdentities(maps::get, context.worldIdentity4(), context.worldIdentity6());
    changes = conductor.immediateChanges();
    final BpfMap ports = maps.get(MapCatalog.REDIRECT_PROXIES);
    ports.forEachEntry(
        cursor -> {
          for (final RedirectKind kind : RedirectKind.values()) {
            if (kind.number() == cursor.key().getInt(0)) {
              previous.put(kind, cursor.value().getInt(0));
            }
          }
        });
    proxies = changes.add(new BpfTargetMap(ports), 0, Realization.PLAIN, faults);
    sockets =
        changes.add(
            new BpfTargetMap(maps.get(MapCatalog.REDIRECT_SOCKETS)), 0, Realization.PLAIN, faults);
    guard = new ComparedTables("redirects", List.of(proxies, sockets), repairs);
    changes.removeOthers(proxies);
    changes.removeOthers(sockets);
  }

  /** Returns the comparison of the maps with the kernel. */
  public Check guard() {
    return guard;
  }

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    if (ipv6) {
      return context.enableIpv6() ? Optional.of(context.gateway6()) : Optional.empty();
    }
    return context.enableIpv4() ? Optional.of(context.gateway4()) : Optional.empty();
  }

  @Override
  public int previousPort(RedirectKind kind) {
    return previous.getOrDefault(kind, 0);
  }

  @Override
  public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
    return conductor.run(() -> write(kind, firstPort));
  }

  private void write(RedirectKind kind, int firstPort) {
    proxyKey.putInt(0, kind.number());
    if (firstPort == 0) {
      changes.remove(proxies, proxyKey);
    } else {
      proxyPort.putInt(0, firstPort);
      changes.put(proxies, proxyKey, proxyPort);
    }
  }

  @Override
  public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
    return address(client.isIpv6())
        .flatMap(proxy -> flows.find(protocol, client, clientPort, proxy, port));
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return servers.refusal(flow);
  }

  @Override
  public RedirectedFlow refresh(RedirectedFlow flow, int port) {
    return identities.refresh(NodeRedirects.super.refresh(flow, port));
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    return conductor.run(
        () -> {
          setKey(flow, port);
          socket.client(high(flow.client()), low(flow.client())).clientPort(flow.clientPort());
          socket.server(high(flow.server()), low(flow.server())).serverPort(flow.serverPort());
          changes.tryPut(sockets, socketKey, socketValue);
        });
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    conductor.run(
        () -> {
          setKey(flow, port);
          changes.remove(sockets, socketKey);
        });
  }

  private void setKey(RedirectedFlow flow, int port) {
    socketOf.port(port).protocol(flow.protocol()).family(flow.server().isIpv4() ? 4 : 6);
  }

  /** An IPv4 address is in the first four bytes. */
  private static long high(IpAddress address) {
    return address.isIpv4() ? address.low() << Integer.SIZE : address.high();
  }

  private static long low(IpAddress address) {
    return address.isIpv4() ? 0 : address.low();
  }

  @Override
  public Source source() {
    final Map<String, Path> pins = new TreeMap<>();
    RedirectLookups.MAPS.forEach(map -> pins.put(map.name(), pin.apply(map.name())));
    return new Source(pins, filters.load(), context.worldIdentity4(), context.worldIdentity6());
  }
}
