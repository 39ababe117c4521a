package agent.endpoint;

import agent.node.AddressProbes;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** Workloads that answer at once for the addresses that they have. */
final class FakeProbes implements AddressProbes {
  /** The addresses of the workload behind each device. */
  final Map<Integer, Set<IpAddress>> configured = new HashMap<>();

  /** The requests, as {@code device address}. */
  final List<String> asked = new ArrayList<>();

  /** Answers that were not received yet. */
  final Deque<Consumer<Handler>> answers = new ArrayDeque<>();

  boolean opensFail;
  boolean isOpen;

  AddressProbes open() {
    if (opensFail) {
      throw new OperationException("probes of workloads: packet socket: EPERM");
    }
    isOpen = true;
    return this;
  }

  void has(int device, String... addresses) {
    final Set<IpAddress> own = new HashSet<>();
    for (final String address : addresses) {
      own.add(IpAddress.parse(address));
    }
    configured.put(device, own);
  }

  void answer(int device, String address) {
    final IpAddress own = IpAddress.parse(address);
    answers.add(handler -> handler.onAnswer(device, own.isIpv4(), own.high(), own.low()));
  }

  @Override
  public boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address) {
    asked.add(deviceIndex + " " + address);
    if (configured.getOrDefault(deviceIndex, Set.of()).contains(address)) {
      answer(deviceIndex, address.toString());
    }
    return true;
  }

  @Override
  public int receive(Handler handler, int limit) {
    int count = 0;
    while (count < limit && !answers.isEmpty()) {
      answers.poll().accept(handler);
      count++;
    }
    return count;
  }

  @Override
  public void close() {
    isOpen = false;
  }
}
