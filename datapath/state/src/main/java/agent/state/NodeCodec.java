package agent.state;

import agent.node.NodeStore.NodeRecord;

/** The codec of {@code node/node.json}. */
final class NodeCodec implements Codec<NodeRecord> {
  @Override
  public void write(DocumentWriter out, NodeRecord node) {
    out.beginObject();
    out.memberOrNull("ipv4Range", node.ipv4Range(), DocumentWriter::text);
    out.memberOrNull("ipv6Range", node.ipv6Range(), DocumentWriter::text);
    out.endObject();
  }

  @Override
  public NodeRecord read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final NodeRecord node =
        new NodeRecord(
            in.memberOrNull("ipv4Range", DocumentReader::prefix),
            in.memberOrNull("ipv6Range", DocumentReader::prefix));
    in.check(
        node.ipv4Range() == null || node.ipv4Range().isIpv4(), "the IPv4 range is not one of IPv4");
    in.check(
        node.ipv6Range() == null || node.ipv6Range().isIpv6(), "the IPv6 range is not one of IPv6");
    in.endObject();
    return node;
  }
}
