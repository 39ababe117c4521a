package agent.datapath.manager.redirect;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.OwnSockets;
import agent.datapath.spec.NodeRedirects;
import agent.datapath.spec.RedirectProxy;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.nio.file.Path;
import java.util.Set;

/**
 * The filters of the sockets that proxies listen on, for the process that has these: they get what
 * the datapath has sent there, and nothing else ({@code programs/proxy_filter.bpf.c}).
 */
public final class ProxyFilters {
  private static final int TCP = 6;
  private static final int UDP = 17;

  private final BpfProgram tcp;
  private final BpfProgram udp;

  private ProxyFilters(BpfProgram tcp, BpfProgram udp) {
    this.tcp = tcp;
    this.udp = udp;
  }

  /**
   * Opens the programs, which attach without a capability then.
   *
   * @throws BindingsException where a pin cannot be opened
   */
  public static ProxyFilters open(NodeRedirects.Filters pins) {
    return new ProxyFilters(open(pins.tcp()), open(pins.udp()));
  }

  private static BpfProgram open(Path pin) {
    return BpfProgram.openPinned(pin)
        .orElseThrow(() -> new BindingsException("no program at " + pin, Errno.ENOENT));
  }

  /**
   * Attaches the filters to the sockets that a proxy listens on.
   *
   * @param addresses those that the proxy listens on
   * @param firstPort the first of its {@link RedirectProxy#PORTS} ports
   * @throws OperationException where one of the sockets is not there
   */
  public void attach(RedirectKind kind, Set<IpAddress> addresses, int firstPort) {
    for (final IpAddress address : addresses) {
      attach(tcp, TCP, address, firstPort);
      if (kind == RedirectKind.DNS) {
        attach(udp, UDP, address, firstPort);
      }
    }
  }

  /** Connections that were accepted meanwhile are of the same address and port. */
  private static void attach(BpfProgram filter, int protocol, IpAddress address, int firstPort) {
    final int last = firstPort + RedirectProxy.PORTS - 1;
    final int found = OwnSockets.filter(filter, protocol, address.toBytes(), firstPort, last);
    if (found < RedirectProxy.PORTS) {
      throw new OperationException(
          "%d of %d sockets of protocol %d at %s from port %d on have no filter"
              .formatted(
                  RedirectProxy.PORTS - found, RedirectProxy.PORTS, protocol, address, firstPort));
    }
  }
}
