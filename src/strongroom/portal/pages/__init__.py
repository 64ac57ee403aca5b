"""Every page and action of the portal, as one table: the frame serves it and the tests walk it."""

from strongroom.portal.page import Page
from strongroom.portal.pages import (
    account,
    documentation,
    factors,
    home,
    playground,
    reset,
    second_factor,
    security,
    sign_in,
    sign_up,
    static,
)

ALL: tuple[Page, ...] = (
    *home.PAGES,
    *sign_up.PAGES,
    *sign_in.PAGES,
    *second_factor.PAGES,
    *reset.PAGES,
    *account.PAGES,
    *security.PAGES,
    *factors.PAGES,
    *documentation.PAGES,
    *playground.PAGES,
    *static.PAGES,
)
