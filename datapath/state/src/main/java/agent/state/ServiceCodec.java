package agent.state;

import agent.service.Backend;
import agent.service.ForwardingMode;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.ServiceType;
import agent.types.EntrySource;

/** The codec of {@code services/<id>.json}. */
final class ServiceCodec implements Codec<Service> {
  private static final int MOST_PORT = 65_535;

  @Override
  public void write(DocumentWriter out, Service service) {
    out.beginObject();
    out.member("id", service.id(), DocumentWriter::integer);
    out.member("frontend", service.frontend(), ServiceCodec::writeFrontend);
    out.member(
        "backends", service.backends(), (to, all) -> to.list(all, ServiceCodec::writeBackend));
    out.member("local", service.isLocal(), DocumentWriter::bool);
    out.member("affinitySeconds", service.affinitySec(), DocumentWriter::integer);
    out.memberOrNull("name", service.name(), DocumentWriter::text);
    out.memberOrNull("namespace", service.namespace(), DocumentWriter::text);
    if (service.type().isOutside()) {
      out.member("outside", service, ServiceCodec::writeOutside);
    }
    if (!service.source().equals(EntrySource.API)) { // a release before 0.10 does not read it
      out.member("source", service.source(), DocumentWriter::text);
    }
    out.endObject();
  }

  private static void writeOutside(DocumentWriter out, Service service) {
    out.beginObject();
    out.member("type", service.type().text(), DocumentWriter::text);
    out.member("local", service.isLocalOutside(), DocumentWriter::bool);
    if (service.forwarding() != null) { // a release before 0.9 does not read the record
      out.member("forwarding", service.forwarding().text(), DocumentWriter::text);
    }
    out.endObject();
  }

  private record Outside(ServiceType type, boolean isLocal, ForwardingMode forwarding) {}

  private static Outside readOutside(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new Outside(
        in.member("type", ServiceCodec::readType),
        in.member("local", DocumentReader::bool),
        in.lastMember("forwarding", ServiceCodec::readForwarding));
  }

  private static ForwardingMode readForwarding(DocumentReader in) throws DamagedStateException {
    return in.parsed(name -> ForwardingMode.parse("", name), "a forwarding mode");
  }

  private static ServiceType readType(DocumentReader in) throws DamagedStateException {
    return in.parsed(name -> ServiceType.parse("", name), "the type of a service");
  }

  @Override
  public Service read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final Service service =
        new Service(
            in.member("id", DocumentReader::integer),
            in.member("frontend", ServiceCodec::readFrontend),
            in.member("backends", from -> from.list(ServiceCodec::readBackend)),
            in.member("local", DocumentReader::bool),
            in.member("affinitySeconds", DocumentReader::integer),
            in.memberOrNull("name", DocumentReader::text),
            in.memberOrNull("namespace", DocumentReader::text));
    final Outside outside = in.laterMember("outside", ServiceCodec::readOutside);
    final EntrySource source = in.lastMember("source", DocumentReader::source);
    final Service offered =
        outside == null
            ? service
            : service.offered(outside.type(), outside.isLocal(), outside.forwarding());
    return source == null ? offered : offered.from(source);
  }

  private static void writeFrontend(DocumentWriter out, Frontend frontend) {
    out.beginObject();
    out.member("address", frontend.address(), DocumentWriter::text);
    out.member("port", frontend.port(), DocumentWriter::integer);
    out.member("protocol", frontend.protocol(), DocumentWriter::text);
    out.endObject();
  }

  private static Frontend readFrontend(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final Frontend frontend =
        new Frontend(
            in.member("address", DocumentReader::address),
            in.member("port", ServiceCodec::readPort),
            in.member("protocol", ServiceCodec::readProtocol));
    in.endObject();
    return frontend;
  }

  private static void writeBackend(DocumentWriter out, Backend backend) {
    out.beginObject();
    out.member("address", backend.address(), DocumentWriter::text);
    out.member("port", backend.port(), DocumentWriter::integer);
    out.member("state", backend.state().text(), DocumentWriter::text);
    out.member("weight", backend.weight(), DocumentWriter::integer);
    out.memberOrNull("nodeName", backend.nodeName(), DocumentWriter::text);
    out.endObject();
  }

  private static Backend readBackend(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final Backend backend =
        new Backend(
            in.member("address", DocumentReader::address),
            in.member("port", ServiceCodec::readPort),
            in.member("state", ServiceCodec::readState),
            in.member("weight", DocumentReader::integer),
            in.memberOrNull("nodeName", DocumentReader::text));
    in.check(backend.weight() >= 0, "'" + backend.weight() + "' is not a weight");
    in.endObject();
    return backend;
  }

  private static ServiceProtocol readProtocol(DocumentReader in) throws DamagedStateException {
    return in.parsed(name -> ServiceProtocol.parse("", name), "TCP, UDP, SCTP or ANY");
  }

  private static Backend.State readState(DocumentReader in) throws DamagedStateException {
    return in.parsed(name -> Backend.State.parse("", name), "the state of a backend");
  }

  private static int readPort(DocumentReader in) throws DamagedStateException {
    final int port = in.integer();
    in.check(port >= 1 && port <= MOST_PORT, "'" + port + "' is not a port");
    return port;
  }
}
