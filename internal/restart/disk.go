package restart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Disk says what a volume gives, reads and writes each: a cloud volume on a disk that can do more. Zero: unlimited.
type Disk struct {
	IOPS           int64 // operations per second
	BytesPerSecond int64
}

// String is empty for an unlimited disk.
func (d Disk) String() string {
	if d == (Disk{}) {
		return ""
	}
	return fmt.Sprintf("disk held to %d IOPS and %d MB/s", d.IOPS, d.BytesPerSecond/1e6)
}

// Cage is a control group whose processes have such a disk. Only direct I/O is held back for certain: what the kernel
// writes back later belongs to nobody.
type Cage struct {
	dir  string
	home string // where the first process that entered came from; "": nobody did
}

// ErrNoCage: this machine or user cannot hold a disk back.
var ErrNoCage = errors.New("the disk cannot be held back here (it takes root and a control group with blkio or io)")

// NewCage makes a control group, of version 1 or 2, that holds back the device under path.
func NewCage(path string, d Disk) (*Cage, error) {
	device, err := blockDevice(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCage, err)
	}
	name := fmt.Sprintf("hearth-bench-%d", os.Getpid())
	var errs []error
	for _, try := range []func(name, device string, d Disk) (*Cage, error){cage1, cage2} {
		c, err := try(name, device, d)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoCage, errors.Join(errs...))
}

// controller1 is what version 1 names the group's hierarchy after; that of version 2 has no name.
const controller1 = "blkio"

// cage1 uses the blkio controller of cgroups version 1 (kernel documentation, cgroup-v1/blkio-controller).
func cage1(name, device string, d Disk) (*Cage, error) {
	c := &Cage{dir: filepath.Join("/sys/fs/cgroup", controller1, name)}
	limits := map[string]int64{
		"blkio.throttle.read_iops_device": d.IOPS, "blkio.throttle.write_iops_device": d.IOPS,
		"blkio.throttle.read_bps_device": d.BytesPerSecond, "blkio.throttle.write_bps_device": d.BytesPerSecond,
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for file, limit := range limits {
		if err := c.set(file, fmt.Sprintf("%s %d", device, limit)); err != nil { // 0 means unlimited
			return nil, errors.Join(err, c.Remove())
		}
	}
	return c, nil
}

// cage2 uses the io controller of cgroups version 2 (kernel documentation, cgroup-v2).
func cage2(name, device string, d Disk) (*Cage, error) {
	c := &Cage{dir: filepath.Join("/sys/fs/cgroup", name)}
	if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+io"), 0o644); err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	limit := func(n int64) string {
		if n == 0 {
			return "max"
		}
		return strconv.FormatInt(n, 10)
	}
	iops, bps := limit(d.IOPS), limit(d.BytesPerSecond)
	if err := c.set("io.max", fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, bps, bps, iops, iops)); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// CanHold says why NewCage fails; nil: it does not.
func CanHold(path string, d Disk) error {
	c, err := NewCage(path, d)
	if err != nil {
		return err
	}
	return c.Remove()
}

func (c *Cage) set(file, value string) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(value), 0o644)
}

// Enter puts a process into the cage, with all its threads and the children it will have.
func (c *Cage) Enter(pid int) error {
	if c.home == "" {
		home, err := groupOf(pid, filepath.Dir(c.dir))
		if err != nil {
			return err
		}
		c.home = home
	}
	return c.set(groupProcs, strconv.Itoa(pid))
}

// groupProcs is the file of a group that lists its processes, and takes one in.
const groupProcs = "cgroup.procs"

// groupOf is the folder of the group that a process is in; top is that of its hierarchy. Who cannot see that group from here is taken
// for one of the top.
func groupOf(pid int, top string) (string, error) {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) { // "7:blkio:/a/b", "0::/a/b"
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 || part[1] != controller1 && filepath.Base(top) == controller1 || part[1] != "" && filepath.Base(top) != controller1 {
			continue
		}
		home := filepath.Join(top, part[2])
		if _, err := os.Stat(filepath.Join(home, groupProcs)); err == nil {
			return home, nil
		}
	}
	return top, nil
}

// removeTries: a process that is let out may make a child in the cage first.
const removeTries = 100

// Remove lets everybody out, back to where the first process came from, and takes the cage away.
func (c *Cage) Remove() error {
	var err error
	for range removeTries {
		procs, readErr := os.ReadFile(filepath.Join(c.dir, groupProcs))
		if readErr != nil {
			return readErr
		}
		for pid := range strings.FieldsSeq(string(procs)) {
			err := os.WriteFile(filepath.Join(c.home, groupProcs), []byte(pid), 0o644)
			if err != nil && !errors.Is(err, unix.ESRCH) { // it is gone, and so it has left
				return err
			}
		}
		if err = os.Remove(c.dir); !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return err
}

// blockDevice is "major:minor" of the whole disk that path lies on; controllers know no partitions.
func blockDevice(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	device := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	sys, err := filepath.EvalSymlinks("/sys/dev/block/" + device)
	if err != nil {
		return "", fmt.Errorf("%s is on no block device: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(sys, "partition")); err != nil {
		return device, nil
	}
	whole, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
	return strings.TrimSpace(string(whole)), err
}
