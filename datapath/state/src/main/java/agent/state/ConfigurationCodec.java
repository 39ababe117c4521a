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
    out.endObject();
  }

  private static ChangedValue readChange(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final ChangedValue change =
        new ChangedValue(
            in.member("name", DocumentReader::text),
            in.member("value", DocumentReader::text),
            in.member("startValue", DocumentReader::text));
    in.endObject();
    return change;
  }
}
