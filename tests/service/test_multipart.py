import pytest

from facefusion.core.errors import UsageError
from facefusion.service.multipart import MOST_BESIDE, MOST_PARTS, FormFile

pytestmark = pytest.mark.service

TYPE = "multipart/form-data; boundary=limit"


def part(name, data, filename=None, more=""):
    label = f'name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
    return f"--limit\r\nContent-Disposition: form-data; {label}\r\n{more}\r\n".encode() + data + b"\r\n"


def read(body, step=7):
    form = FormFile(TYPE)
    found = b"".join(form.feed(body[at : at + step]) for at in range(0, len(body), step))
    form.close()
    return found


END = b"--limit--\r\n"
DATA = bytes(range(256)) + b"\r\n--limi\r\n--lim"


@pytest.mark.parametrize("step", [1, 2, 3, 64, 10_000])
def test_the_file_comes_out_whole_however_it_is_cut(step):
    body = (
        part("note", b"hello") + part("file", DATA, "../../etc/passwd", "Content-Type: video/mp4\r\n") + part("z", b"")
    )
    assert read(body + END, step) == DATA


def test_a_second_file_is_passed_over():
    assert read(part("file", b"one", "a") + part("file", b"two", "b") + END) == b"one"


def test_an_empty_file_is_empty():
    assert read(part("file", b"", "a") + END) == b""


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (part("other", b"x") + END, "the form has no field 'file'"),
        (part("file", b"x"), "the form breaks off"),
        (b"", "the form breaks off"),
        (b"nonsense", "the form cannot be read"),
        (part("x", b"") * (MOST_PARTS + 1) + END, f"the form has more than {MOST_PARTS} parts"),
        (part("file", b"x", more=f"X-Long: {'a' * 100_000}\r\n") + END, "the form cannot be read"),
    ],
)
def test_what_is_no_form_is_refused(body, fault):
    with pytest.raises(UsageError, match=fault):
        read(body)


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
def test_a_form_names_its_boundary(content_type):
    with pytest.raises(UsageError, match="the form names no boundary"):
        FormFile(content_type)


def test_a_boundary_that_no_form_has_is_refused():
    with pytest.raises(UsageError, match="the form cannot be read"):
        FormFile(f"multipart/form-data; boundary={'a' * 5000}")


def test_what_is_passed_over_does_not_come_for_ever():
    form = FormFile(TYPE)
    form.feed(part("file", b"x" * (2 * MOST_BESIDE), "a"))
    form.feed(b"--limit\r\nContent-Disposition: form-data; name=other\r\n\r\n")
    with pytest.raises(UsageError, match=f"the form has more than {MOST_BESIDE} bytes beside the file"):
        form.feed(b"x" * MOST_BESIDE)
