package agent.domain.proxy;

import agent.datapath.manager.redirect.RedirectLookups;
import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The flows of the datapath in the proxy process: it looks them up, and the agent changes them. */
final class ProxyFlows implements RedirectProxy {
  private final RedirectLookups lookups;
  private final IpAddress address4;
  private final IpAddress address6;
  private final FrameWriter agent;
  private final Pending<Void> joins;
  private volatile int previousPort;

  /**
   * Creates the flows.
   *
   * @param address4 that proxies listen on; null: the family is off
   * @param address6 the same
   */
  ProxyFlows(
      RedirectLookups lookups,
      IpAddress address4,
      IpAddress address6,
      FrameWriter agent,
      Pending<Void> joins) {
    this.lookups = lookups;
    this.address4 = address4;
    this.address6 = address6;
    this.agent = agent;
    this.joins = joins;
  }

  /** Sets the first port that the proxy which starts next had before; 0: none. */
  void previousPort(int port) {
    previousPort = port;
  }

  @Override
  public Optional<IpAddress> address(boolean ipv6) {
    return Optional.ofNullable(ipv6 ? address6 : address4);
  }

  /** Returns the addresses that proxies listen on. */
  Set<IpAddress> addresses() {
    return Stream.of(address4, address6).filter(Objects::nonNull).collect(Collectors.toSet());
  }

  @Override
  public int previousPort(RedirectKind kind) {
    return previousPort;
  }

  @Override
  public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
    throw new UnsupportedOperationException("the agent tells the datapath");
  }

  @Override
  public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
    return address(client.isIpv6())
        .flatMap(proxy -> lookups.find(protocol, client, clientPort, proxy, port));
  }

  @Override
  public RedirectedFlow refresh(RedirectedFlow flow, int port) {
    return lookups.refresh(RedirectProxy.super.refresh(flow, port));
  }

  @Override
  public Optional<String> refusal(RedirectedFlow flow) {
    return lookups.refusal(flow);
  }

  @Override
  public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
    final CompletableFuture<Void> joined = new CompletableFuture<>();
    final long call = joins.begin(joined);
    agent.send(
        FrameType.JOIN,
        out -> {
          out.writeLong(call);
          Wire.writeFlow(out, flow);
          out.writeShort(port);
        });
    return joined;
  }

  @Override
  public void leave(RedirectedFlow flow, int port) {
    agent.send(
        FrameType.LEAVE,
        out -> {
          Wire.writeFlow(out, flow);
          out.writeShort(port);
        });
  }
}
