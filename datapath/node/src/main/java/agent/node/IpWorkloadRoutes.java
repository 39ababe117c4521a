package agent.node;

import agent.bindings.BindingsException;
import agent.bindings.NetworkDevice;
import agent.bindings.RouteNetlink;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Workload routes by {@code ip}. What is the agent's bears its routing protocol number, so that it
 * is known again after a restart and nothing else is ever removed.
 */
final class IpWorkloadRoutes implements WorkloadRoutes {
  /** The agent's number among those that the kernel leaves to user space (rtnetlink(7), 5..255). */
  static final String PROTOCOL = "169";

  private final IpRunner ip;
  private final Sysctls sysctls;
  private final NodeAddressing addressing;

  IpWorkloadRoutes(IpRunner ip, Sysctls sysctls, NodeAddressing addressing) {
    this.ip = ip;
    this.sysctls = sysctls;
    this.addressing = addressing;
  }

  @Override
  public void add(WorkloadRoute route) {
    if (!addAtOnce(route)) {
      addByIp(route);
    }
    forward(route);
  }

  /**
   * Asks the kernel itself, which takes a hundredth of the time of a process, since an endpoint
   * waits for it.
   *
   * @return false where something was refused: {@code ip}, which does not mind what is there
   *     already, says what and why
   */
  private boolean addAtOnce(WorkloadRoute route) {
    final int ifindex = NetworkDevice.index(route.interfaceName());
    if (ifindex < 0) {
      return false;
    }
    final int protocol = Integer.parseInt(PROTOCOL);
    try (RouteNetlink netlink = RouteNetlink.open()) {
      boolean done = netlink.request(RouteMessages.up(ifindex)) == 0;
      for (final IpAddress address : route.addresses()) {
        final FamilyAddressing family = addressing.family(address);
        final IpAddress source = family.enabled() ? family.gateway() : null;
        done =
            done
                && netlink.request(RouteMessages.route(address, ifindex, source, protocol)) == 0
                && netlink.request(RouteMessages.neighbour(address, ifindex, route.mac(), protocol))
                    == 0;
      }
      return done;
    } catch (BindingsException unavailable) {
      return false;
    }
  }

  private void addByIp(WorkloadRoute route) {
    final List<String> commands = new ArrayList<>();
    commands.add("link set dev " + route.interfaceName() + " up");
    commands.addAll(additions(route));
    final List<String> errors = errors(ip.batch(commands));
    if (!errors.isEmpty()) {
      throw Refusal.failed("", String.join("; ", errors));
    }
  }

  private List<String> additions(WorkloadRoute route) {
    final List<String> commands = new ArrayList<>();
    for (final IpAddress address : route.addresses()) {
      final FamilyAddressing family = addressing.family(address);
      final String source = family.enabled() ? " src " + family.gateway() : "";
      final String scope = address.isIpv4() ? " scope link" : "";
      commands.add(
          "route add " + destination(address, route) + source + scope + " proto " + PROTOCOL);
    }
    // Neighbours last: ip leaves the whole batch when one of them fails.
    for (final IpAddress address : route.addresses()) {
      commands.add(
          "neigh replace "
              + address
              + " lladdr "
              + route.mac()
              + " dev "
              + route.interfaceName()
              + " nud permanent protocol "
              + PROTOCOL);
    }
    return commands;
  }

  private static String destination(IpAddress address, WorkloadRoute route) {
    return prefix(address) + " dev " + route.interfaceName();
  }

  private static String prefix(IpAddress address) {
    return address + "/" + address.bitLength();
  }

  /** Packets of the workload that the stack routes; IPv6 knows no switch per device. */
  private void forward(WorkloadRoute route) {
    if (route.ipv4() != null) {
      sysctls.set("1", "ipv4", "conf", route.interfaceName(), "forwarding");
      sysctls.set("0", "ipv4", "conf", route.interfaceName(), "rp_filter");
    }
  }

  /** A route that is there already is no failure where it is the agent's and leads the same way. */
  private List<String> errors(List<IpRunner.Failure> failures) {
    final List<String> errors = new ArrayList<>();
    for (final IpRunner.Failure failure : failures) {
      if (!failure.message().contains("File exists") || !isOwn(failure.command())) {
        errors.add(failure.toString());
      }
    }
    return errors;
  }

  private boolean isOwn(String command) {
    final List<String> words = List.of(command.split(" "));
    final String address = words.get(2).substring(0, words.get(2).indexOf('/'));
    final String device = words.get(words.indexOf("dev") + 1);
    return ownRoutes(IpAddress.parse(address).isIpv4())
        .getOrDefault(IpAddress.parse(address), Set.of())
        .contains(device);
  }

  @Override
  public List<String> remove(WorkloadRoute route) {
    final List<String> commands = new ArrayList<>();
    for (final IpAddress address : route.addresses()) {
      commands.add(deletion(address, route.interfaceName()));
    }
    commands.add(down(route.interfaceName()));
    return runUnlessGone(commands);
  }

  @Override
  public List<String> cutOff(String interfaceName) {
    return runUnlessGone(List.of(down(interfaceName)));
  }

  /** Neighbours go with it (neigh_ifdown). */
  private static String down(String interfaceName) {
    return "link set dev " + interfaceName + " down";
  }

  private List<String> runUnlessGone(List<String> commands) {
    try {
      return ip.batch(commands).stream()
          .filter(failure -> !isGone(failure.message()))
          .map(IpRunner.Failure::toString)
          .toList();
    } catch (Refusal refusal) {
      return List.of(refusal.getMessage());
    }
  }

  private static String deletion(IpAddress address, String device) {
    return "route del " + prefix(address) + " dev " + device + " proto " + PROTOCOL;
  }

  private static boolean isGone(String message) {
    return message.contains("No such process") || message.contains("Cannot find device");
  }

  @Override
  public List<String> synchronize(Collection<WorkloadRoute> routes) {
    final Map<IpAddress, String> wanted = new HashMap<>();
    for (final WorkloadRoute route : routes) {
      route.addresses().forEach(address -> wanted.put(address, route.interfaceName()));
    }
    final List<String> commands = new ArrayList<>(staleRoutes(wanted));
    for (final WorkloadRoute route : routes) {
      commands.addAll(additions(route));
    }
    commands.sort((a, b) -> Boolean.compare(isNeighbour(a), isNeighbour(b)));
    final List<String> errors = new ArrayList<>(errors(ip.batch(commands)));
    final List<String> stale = staleNeighbours(wanted);
    ip.batch(stale).forEach(failure -> errors.add(failure.toString()));
    return errors;
  }

  private static boolean isNeighbour(String command) {
    return command.startsWith("neigh ");
  }

  private List<String> staleRoutes(Map<IpAddress, String> wanted) {
    final List<String> commands = new ArrayList<>();
    for (final boolean ipv4 : new boolean[] {true, false}) {
      ownRoutes(ipv4)
          .forEach(
              (address, devices) -> {
                for (final String device : devices) {
                  if (!device.equals(wanted.get(address))) {
                    commands.add(deletion(address, device));
                  }
                }
              });
    }
    return commands;
  }

  private List<String> staleNeighbours(Map<IpAddress, String> wanted) {
    final List<String> commands = new ArrayList<>();
    for (final String line : ip.show(List.of("-N", "-o", "neigh", "show", "proto", PROTOCOL))) {
      final List<String> words = List.of(line.trim().split("\\s+"));
      final String device = words.get(words.indexOf("dev") + 1);
      if (!device.equals(wanted.get(IpAddress.parse(words.get(0))))) {
        commands.add("neigh del " + words.get(0) + " dev " + device);
      }
    }
    return commands;
  }

  /** Address to the devices that a route of the agent's leads it to. */
  private Map<IpAddress, Set<String>> ownRoutes(boolean ipv4) {
    final Map<IpAddress, Set<String>> routes = new HashMap<>();
    final List<String> query =
        List.of("-N", "-o", ipv4 ? "-4" : "-6", "route", "show", "proto", PROTOCOL);
    for (final String line : ip.show(query)) {
      final List<String> words = List.of(line.trim().split("\\s+"));
      final String destination = words.get(0).replaceFirst("/(32|128)$", "");
      final int dev = words.indexOf("dev");
      if (dev > 0 && destination.indexOf('/') < 0) {
        routes
            .computeIfAbsent(IpAddress.parse(destination), address -> new HashSet<>())
            .add(words.get(dev + 1));
      }
    }
    return routes;
  }
}
