package agent.state;

import agent.service.Service;
import java.util.List;

/** The codec of {@code service-batches/<id>-<id>.json}. */
final class ServiceListCodec implements Codec<List<Service>> {
  private final ServiceCodec one = new ServiceCodec();

  @Override
  public void write(DocumentWriter out, List<Service> services) {
    out.beginObject();
    out.member("services", services, (to, all) -> to.list(all, one::write));
    out.endObject();
  }

  @Override
  public List<Service> read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final List<Service> services = in.member("services", from -> from.list(one::read));
    in.endObject();
    return services;
  }
}
