package agent.state;

import agent.ipam.Lease;
import java.util.List;

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
    in.endObject();
    return lease;
  }
}
