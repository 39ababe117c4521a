package agent.state;

import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import java.util.List;

/** The codec of {@code configuration/daemon.json}. */
final class ConfigurationCodec implements Codec<List<ChangedValue>> {
  @Override
  public void write(DocumentWriter out, List<ChangedValue> changes) {
    out.beginObject();
    out.member("changes", changes, (to, all) -> to.list(all, ConfigurationCodec::writeChange));
    out.endObject();
  }

  @Override
  public List<ChangedValue> read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final List<ChangedValue> changes =
        in.member("changes", from -> from.list(ConfigurationCodec::readChange));
    in.endObject();
    return changes;
  }

  private static void writeChange(DocumentWriter out, ChangedValue change) {
    out.beginObject();
    out.member("name", change.name(), DocumentWriter::text);
    out.member("value", change.value(), DocumentWriter::text);
    out.member("startValue", change.startValue(), DocumentWriter::text);
    if (change.isBeingSet()) { // a release before 0.10 does not read it
      out.member("isBeingSet", true, DocumentWriter::bool);
    }
    out.endObject();
  }

  private static ChangedValue readChange(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    return new ChangedValue(
        in.member("name", DocumentReader::text),
        in.member("value", DocumentReader::text),
        in.member("startValue", DocumentReader::text),
        Boolean.TRUE.equals(in.lastMember("isBeingSet", DocumentReader::bool)));
  }
}
