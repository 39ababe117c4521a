package agent.datapath.manager.redirect;

import agent.bindings.BpfObject;
import agent.conductor.Repairs;
import agent.datapath.manager.attach.Pins;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.MapRounds;
import agent.datapath.manager.load.OpenMaps;
import agent.datapath.manager.spec.DatapathContext;
import agent.datapath.manager.spec.NodeRedirects;
import agent.datapath.manager.spec.RedirectedFlow;
import agent.maps.kernel.MapCatalog;
import agent.maps.layout.RedirectKind;
import agent.maps.layout.RedirectSocketFlyweight;
import agent.maps.layout.RedirectSocketKeyFlyweight;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The maps that send flows to proxies. The sockets of a former run are gone with it, and its
 * proxies do not listen: their ports are remembered, so that those of this run take them and flows
 * that have entries go on where that is possible.
 */
public final class Redirects implements NodeRedirects, Check {
  private final DatapathConductor conductor;
  private final DatapathContext context;
  private final ProxiedFlows flows;
  private final JudgedServers servers;
  private final FlowIdentities identities;
  private final RedirectMap proxies;
  private final RedirectMap sockets;
  private final MapRounds rounds;
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
    proxies = new RedirectMap(maps.get(MapCatalog.REDIRECT_PROXIES));
    sockets = new RedirectMap(maps.get(MapCatalog.REDIRECT_SOCKETS));
    rounds = new MapRounds(faults, repairs, List.of(proxies.guarded(), sockets.guarded()));
    proxies
        .guarded()
        .map()
        .forEachEntry(
            cursor -> {
              for (final RedirectKind kind : RedirectKind.values()) {
                if (kind.number() == cursor.key().getInt(0)) {
                  previous.put(kind, cursor.value().getInt(0));
                }
              }
            });
    for (final RedirectKind kind : RedirectKind.values()) {
      write(kind, 0);
    }
    sockets.clear();
  }

  private void write(RedirectKind kind, int firstPort) {
    proxies.entry().key().putInt(0, kind.number());
    if (firstPort == 0) {
      proxies.zero();
    } else {
      proxies.entry().value().putInt(0, firstPort);
      proxies.put();
    }
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
          key(flow, port);
          final RedirectSocketFlyweight socket =
              new RedirectSocketFlyweight().wrap(sockets.entry().value(), 0);
          socket.client(high(flow.client()), low(flow.client())).clientPort(flow.clientPort());
          socket.server(high(flow.server()), low(flow.server())).serverPort(flow.serverPort());
          sockets.put();
        });
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    conductor.run(
        () -> {
          key(flow, port);
          sockets.remove();
        });
  }

  private void key(RedirectedFlow flow, int port) {
    new RedirectSocketKeyFlyweight()
        .wrap(sockets.entry().key(), 0)
        .port(port)
        .protocol(flow.protocol())
        .family(flow.server().isIpv4() ? 4 : 6);
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

  @Override
  public Progress step(long nowNs) {
    return rounds.step();
  }

  @Override
  public void close() {
    rounds.abandon();
  }

  @Override
  public String toString() {
    return "redirects";
  }
}
