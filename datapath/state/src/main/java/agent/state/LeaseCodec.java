package agent.state;

import agent.endpoint.state.EndpointIdentifier;
import agent.ipam.Lease;
import agent.types.IpAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The codec of {@code ipam/leases.json}. */
final class LeaseCodec implements Codec<List<Lease>> {
  @Override
  public void write(DocumentWriter out, List<Lease> leases) {
    out.beginObject();
    out.member("leases", leases, (to, all) -> to.list(all, LeaseCodec::writeLease));
    out.endObject();
  }

  @Override
  public List<Lease> read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final List<Lease> leases = in.member("leases", from -> from.list(LeaseCodec::readLease));
    final Set<IpAddress> addresses = new HashSet<>();
    for (final Lease lease : leases) {
      in.check(addresses.add(lease.address()), lease.address() + " is leased twice");
    }
    in.endObject();
    return leases;
  }

  private static void writeLease(DocumentWriter out, Lease lease) {
    out.beginObject();
    out.member("address", lease.address(), DocumentWriter::text);
    out.member("pool", lease.pool(), DocumentWriter::text);
    out.member("owner", lease.owner(), DocumentWriter::text);
    out.member("endpointId", lease.endpointId(), DocumentWriter::integer);
    out.memberOrNull("expirationUuid", lease.expirationUuid(), DocumentWriter::text);
    out.memberOrNull("expiresAt", lease.expiresAt(), DocumentWriter::text);
    out.endObject();
  }

  private static Lease readLease(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final Lease lease =
        new Lease(
            in.member("address", DocumentReader::address),
            in.member("pool", DocumentReader::text),
            in.member("owner", DocumentReader::text),
            in.member("endpointId", DocumentReader::integer),
            in.memberOrNull("expirationUuid", DocumentReader::text),
            in.memberOrNull("expiresAt", DocumentReader::instant));
    in.check(
        lease.endpointId() >= 0 && lease.endpointId() <= EndpointIdentifier.MAX_LOCAL_ID,
        "'" + lease.endpointId() + "' is not the id of an endpoint");
    in.endObject();
    return lease;
  }
}
