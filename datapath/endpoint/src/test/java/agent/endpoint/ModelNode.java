package agent.endpoint;

import agent.bindings.bpf.BpfProgram;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.endpoint.model.ModelFrames;
import agent.endpoint.model.ModelHost;
import agent.endpoint.model.ModelPacket;
import agent.identity.LabelSet;
import agent.identity.ReservedIdentity;
import agent.policy.model.NaivePeer;
import agent.policy.model.RandomPolicy;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A node with the real agent and some endpoints, whose programs meet the packets of a model with
 * the same hosts.
 */
final class ModelNode implements AutoCloseable {
  private static final int LOOPBACK_IFINDEX = 1;
  static final String REMOTE_NODE4 = "192.0.2.99";
  static final String REMOTE_NODE6 = "2001:db8:ffff::99";

  /** One endpoint and its programs. */
  private record Party(Workload workload, BpfProgram fromEndpoint, BpfProgram toEndpoint) {}

  private final KernelRig agent = new KernelRig();
  private final Map<Integer, Party> parties = new TreeMap<>();
  private final Map<Integer, Workload> workloads = new TreeMap<>();

  /** Creates endpoints without labels, with ids from 1. */
  ModelNode(int endpoints) throws IOException {
    for (int id = 1; id <= endpoints; id++) {
      workloads.put(id, agent.workload(id + 10));
      create(id, LabelSet.EMPTY);
    }
    for (final String address : List.of(REMOTE_NODE4, REMOTE_NODE6)) {
      setRemoteNode(address, true);
    }
  }

  /** Notifies the node that another node has the address, or that none has it. */
  void setRemoteNode(String address, boolean isThere) {
    final IpcacheEntry entry =
        new IpcacheEntry(Prefix.parse(address), ReservedIdentity.REMOTE_NODE.id(), 0, false);
    final IpcacheChange change = new IpcacheChange(isThere ? null : entry, isThere ? entry : null);
    agent.datapath().ipcache().apply(List.of(change)).join();
  }

  KernelRig agent() {
    return agent;
  }

  Collection<Integer> endpoints() {
    return parties.keySet();
  }

  /** Creates an endpoint on its workload. */
  void create(int id, LabelSet labels) {
    agent.create(id, workloads.get(id), labels.toStrings().toArray(String[]::new));
    parties.computeIfAbsent(
        id,
        present ->
            new Party(
                workloads.get(id),
                agent.program(id, "from_endpoint"),
                agent.program(id, "to_endpoint")));
  }

  void relabel(int id, LabelSet labels) {
    agent.relabel(id, labels.toStrings().toArray(String[]::new));
  }

  /** Returns the ends of an endpoint. */
  ModelHost endpoint(int id, boolean isIpv4) {
    final Workload workload = workloads.get(id);
    return new ModelHost(
        id, NaivePeer.Kind.ENDPOINT, IpAddress.parse(isIpv4 ? workload.ipv4() : workload.ipv6()));
  }

  /** Returns the other node. */
  ModelHost remoteNode(boolean isIpv4) {
    final String address = isIpv4 ? REMOTE_NODE4 : REMOTE_NODE6;
    return new ModelHost(0, NaivePeer.Kind.REMOTE_NODE, IpAddress.parse(address));
  }

  /** Returns an endpoint, the node, another node, or an address outside the cluster. */
  ModelHost someHost(RandomPolicy random, boolean isIpv4) {
    return switch (random.below(8)) {
      case 0, 1, 2 -> endpoint(random.pick(new ArrayList<>(parties.keySet())), isIpv4);
      case 3 ->
          new ModelHost(
              0,
              NaivePeer.Kind.HOST,
              isIpv4 ? agent.addressing().ipv4().gateway() : agent.addressing().ipv6().gateway());
      case 4 -> remoteNode(isIpv4);
      default -> {
        IpAddress address = random.someOutsideAddress();
        while (address.isIpv4() != isIpv4) {
          address = random.someOutsideAddress();
        }
        yield new ModelHost(0, NaivePeer.Kind.OUTSIDE, address);
      }
    };
  }

  /** Returns the frame of a packet at the program of its sender or receiver. */
  byte[] frame(ModelPacket packet, boolean atSender, RandomPolicy random) {
    final Party party = party(packet, atSender);
    final String workload = party.workload().veth().workloadMac();
    final String host = party.workload().veth().hostMac();
    return ModelFrames.frame(
        packet, atSender ? workload : host, atSender ? host : workload, random);
  }

  /** Returns the frame of a packet without options, whose source port the caller may change. */
  byte[] plainFrame(ModelPacket packet, boolean atSender) {
    final Party party = party(packet, atSender);
    final String workload = party.workload().veth().workloadMac();
    final String host = party.workload().veth().hostMac();
    return ModelFrames.frame(packet, atSender ? workload : host, atSender ? host : workload);
  }

  BpfProgram program(ModelPacket packet, boolean atSender) {
    final Party party = party(packet, atSender);
    return atSender ? party.fromEndpoint() : party.toEndpoint();
  }

  /** Returns the interface whose program meets the packet. */
  int ifindex(ModelPacket packet, boolean atSender) {
    return party(packet, atSender).workload().veth().hostIfindex();
  }

  /** Returns the interface by which the node received the packet, 0 for none. */
  int receivedBy(ModelPacket packet, boolean atSender) {
    final ModelHost source = packet.source();
    if (atSender || source.isNode()) {
      return 0;
    }
    return source.isEndpoint()
        ? workloads.get(source.endpoint()).veth().hostIfindex()
        : LOOPBACK_IFINDEX;
  }

  private Party party(ModelPacket packet, boolean atSender) {
    return parties.get((atSender ? packet.source() : packet.destination()).endpoint());
  }

  @Override
  public void close() throws IOException {
    for (final Party party : parties.values()) {
      party.fromEndpoint().close();
      party.toEndpoint().close();
    }
    agent.close();
  }
}
